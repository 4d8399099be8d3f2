#!/bin/sh
# Starts a worker on each of some machines by ssh, and waits for all of them:
#
#     fedfast tune --preset quickstart --study s --cluster 0.0.0.0:4222 &
#     ./ssh.sh s/cluster/join node1 node2
#
# The machines need fedfast in their PATH (or FEDFAST), and the study's data. The join
# file goes there by ssh, into a file that only its owner can read, and is removed.
set -eu
join=$1
shift
while [ ! -s "$join" ]; do sleep 1; done
for host; do
	# shellcheck disable=SC2086
	${SSH:-ssh} "$host" "umask 077; f=\$(mktemp) && trap 'rm -f \"\$f\"' EXIT && cat > \"\$f\" && ${FEDFAST:-fedfast} worker --join \"\$f\"" < "$join" &
done
wait
