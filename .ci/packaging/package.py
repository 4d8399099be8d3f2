import platform

from spack.package import *

_sha256 = {"x86_64": "@linux-amd64@", "aarch64": "@linux-arm64@"}
_arch = {"x86_64": "amd64", "aarch64": "arm64"}


class Fedfast(Package):
    """Fast simulator and hyperparameter tuner for federated learning on CPUs."""

    homepage = "https://github.com/fedfast/fedfast"
    license("Apache-2.0")

    if platform.machine() in _arch:
        version(
            "@VERSION@",
            sha256=_sha256[platform.machine()],
            url="https://github.com/fedfast/fedfast/releases/download/@TAG@/fedfast-@TAG@-linux-" + _arch[platform.machine()] + ".tar.xz",
        )

    def install(self, spec, prefix):
        mkdirp(prefix.bin, prefix.share.man)
        install("fedfast", prefix.bin)
        install_tree("man1", prefix.share.man.man1)
