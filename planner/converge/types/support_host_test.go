package types

const debianHosts = "127.0.0.1\tlocalhost\n::1 localhost ip6-localhost\n# a comment\n10.0.0.1  db db.example # primary\n"
