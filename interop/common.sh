# What the scripts share. They stop at the first program that cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
. interop/versions.env

# venv NAME PACKAGE... installs Python packages into build/NAME.
venv() {
	python3 -m venv "build/$1"
	"build/$1/bin/pip" install -q "${@:2}"
}

# jars NAME ARTIFACT... has Maven copy artifacts into build/NAME. Maven writes terminal codes to
# standard output, where trino prints a path.
jars() {
	for artifact in "${@:2}"; do
		mvn -q -B dependency:copy -DoutputDirectory="build/$1" -Dartifact="$artifact" >&2
	done
}

# trino VERSION prints the folder of a Trino server, if TRINO_JAVA_HOME names a JDK for it.
trino() {
	[ -n "${TRINO_JAVA_HOME:-}" ] || return 0
	local folder=build/engines-java/trino-server-$1
	if [ ! -d "$folder" ]; then
		jars engines-java "io.trino:trino-server:$1:tar.gz"
		tar -xzf "$folder.tar.gz" -C build/engines-java
		rm "$folder.tar.gz"
	fi
	echo "$root/$folder"
}

# versitygw installs the S3 server.
versitygw() {
	GOBIN=$root/build/tools go install "github.com/versity/versitygw/cmd/versitygw@$VERSITYGW"
}
