# Stands for a real check, such as a request to the application: a release is broken on a node when the node's file `broken` names it.
node=$1 release=$2
if grep -qx "$release" "nodes/$node/broken" 2>/dev/null; then
	echo "release $release does not answer on $node" >&2
	exit 1
fi
