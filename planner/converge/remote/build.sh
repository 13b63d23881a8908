#!/bin/sh
# Puts the helpers that the provider carries into the directory that it is given, where package remote embeds them:
# static, stripped, compressed, named after their SHA-256, and the same bytes from the same source on every machine. Needs
# go, gzip, and sha256sum or shasum.
set -eu
source=github.com/slipway/terraform-provider-slipway/planner/converge/slipway-helper
limit=6200000 # bytes of a helper, before compression; archives (tar, zip, their compressions) are 350,000 of them
for platform in ${HELPER_PLATFORMS:-linux/amd64 linux/arm64}; do
	helper=$1/helper-${platform%/*}-${platform#*/}
	trap 'rm -f "$helper" "$helper.new"' EXIT
	# No flags and no tuning of this machine: they would change the bytes. Without inlining, code of slipway is 4 % of a
	# helper smaller; a helper waits for its node, not for the processor.
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} GOFLAGS='' GOAMD64=v1 GOARM64=v8.0 \
		go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -gcflags="${source%/converge/*}/...=-l" \
		-o "$helper" "$source"
	size=$(wc -c <"$helper")
	if [ "$size" -gt "$limit" ]; then
		echo "helper for $platform has $size bytes: at most $limit are allowed, so find what it imports" >&2
		exit 1
	fi
	gzip -9 -n <"$helper" >"$helper.new" # neither time nor name goes in
	sum=$(sha256sum <"$helper" 2>/dev/null || shasum -a 256 <"$helper")
	rm -f "$helper".gz "$helper"-*.gz "$helper"
	mv "$helper.new" "$helper-${sum%% *}.gz"
	echo "$helper: $(wc -c <"$helper-${sum%% *}.gz") bytes"
done
