#!/bin/sh
# Copies the site to where it is served.
exec cp -R /srv/site /var/www/
