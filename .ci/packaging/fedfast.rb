class Fedfast < Formula
  desc "Fast simulator and hyperparameter tuner for federated learning on CPUs"
  homepage "https://github.com/fedfast/fedfast"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/fedfast/fedfast/releases/download/@TAG@/fedfast-@TAG@-darwin-arm64.tar.xz"
      sha256 "@darwin-arm64@"
    end
    on_intel do
      url "https://github.com/fedfast/fedfast/releases/download/@TAG@/fedfast-@TAG@-darwin-amd64.tar.xz"
      sha256 "@darwin-amd64@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/fedfast/fedfast/releases/download/@TAG@/fedfast-@TAG@-linux-arm64.tar.xz"
      sha256 "@linux-arm64@"
    end
    on_intel do
      url "https://github.com/fedfast/fedfast/releases/download/@TAG@/fedfast-@TAG@-linux-amd64.tar.xz"
      sha256 "@linux-amd64@"
    end
  end

  def install
    bin.install "fedfast"
    man1.install Dir["man1/*.1"]
    generate_completions_from_executable(bin/"fedfast", "completion")
  end

  test do
    system bin/"fedfast", "run", "--study", testpath/"study", "--set", "rounds=2", "--set", "data.clients=20"
  end
end
