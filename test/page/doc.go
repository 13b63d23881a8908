// Package page tests the page of serve in a browser: Debian's Chromium, driven by playwright-core.
package page
