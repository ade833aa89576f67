// All images of a release, each for amd64 and arm64. With the release's packages in target/package:
//
//     docker buildx bake -f packaging/docker/docker-bake.hcl --push
//
// The images get their files from these packages (see Dockerfile), so this compiles nothing. The names and labels of
// image volumes are those of CloudNativePG (github.com/cloudnative-pg/postgres-extensions-containers).
// tests/package/images compares the versions in here with those of the other files.
variable "REGISTRY" {
  default = "ghcr.io/flakeid"
}

variable "VERSION" {
  default = "1.0.0"
}

// The commit of which the packages were built.
variable "REVISION" {
  default = ""
}

// The folder with the packages.
variable "PACKAGES" {
  default = "target/package"
}

majors = ["15", "16", "17", "18", "19"]
// extension_control_path is there since PostgreSQL 18.
volume_majors = ["18", "19"]
debians       = ["bookworm", "trixie"]

now = timestamp()
url = "https://github.com/flakeid/flakeid"
// All licenses that deny.toml allows for what is linked in, and that of LLVM's libunwind.
licenses = "Apache-2.0 AND Apache-2.0 WITH LLVM-exception AND BSD-3-Clause AND ISC AND MIT AND Unicode-3.0 AND Zlib"

function "labels" {
  params = [title, description, base]
  result = {
    "org.opencontainers.image.created"       = now
    "org.opencontainers.image.url"           = url
    "org.opencontainers.image.source"        = url
    "org.opencontainers.image.version"       = VERSION
    "org.opencontainers.image.revision"      = REVISION
    "org.opencontainers.image.vendor"        = "flakeid maintainers"
    "org.opencontainers.image.authors"       = "flakeid maintainers"
    "org.opencontainers.image.title"         = title
    "org.opencontainers.image.description"   = description
    "org.opencontainers.image.documentation" = "${url}/blob/v${VERSION}/packaging/docker/README.md"
    "org.opencontainers.image.base.name"     = base
  }
}

// What else CloudNativePG's image volumes have.
function "volume_labels" {
  params = [major, debian]
  result = merge(
    labels(
      "flakeid ${VERSION} ${major} ${debian}",
      "flakeid ${VERSION} as an image volume for PostgreSQL ${major} on ${debian}",
      "scratch"
    ),
    {
      "org.opencontainers.image.licenses"   = licenses
      "io.cloudnativepg.image.base.name"    = "ghcr.io/cloudnative-pg/postgresql:${major}-minimal-${debian}"
      "io.cloudnativepg.image.base.pgmajor" = major
      "io.cloudnativepg.image.base.os"      = debian
      "io.cloudnativepg.image.sql.version"  = VERSION
    }
  )
}

// Its licenses are those of a whole Debian, which stand in /usr/share/doc.
function "server_labels" {
  params = [major, debian]
  result = labels(
    "PostgreSQL ${major} with flakeid ${VERSION} on ${debian}",
    "The official image of PostgreSQL ${major} on ${debian}, which preloads flakeid ${VERSION}",
    "docker.io/library/postgres:${major}-${debian}"
  )
}

// Registries show annotations, and tools for containers show labels. Both say the same.
function "annotations" {
  params = [labels]
  result = [for name, value in labels : "index,manifest:${name}=${value}"]
}

group "default" {
  targets = ["server", "image-volume"]
}

target "common" {
  context    = "."
  dockerfile = "packaging/docker/Dockerfile"
  contexts   = { packages = PACKAGES }
  platforms  = ["linux/amd64", "linux/arm64"]
  // Only the build from source needs one.
  network    = "none"
  pull       = true
  output     = ["type=image,oci-mediatypes=true"]
  attest     = ["type=provenance,mode=max", "type=sbom"]
}

// A tag without the version follows the releases, but not the release candidates. There is no tag without a Debian:
// another Debian has another glibc, which can sort texts in another way.
target "server" {
  name     = "server-${major}-${debian}"
  matrix   = { major = majors, debian = debians }
  inherits = ["common"]
  target   = "server"
  args     = { PG_MAJOR = major, DEBIAN = debian }
  tags = concat(
    ["${REGISTRY}/postgres:${major}-${VERSION}-${debian}"],
    length(regexall("-", VERSION)) == 0 ? ["${REGISTRY}/postgres:${major}-${debian}"] : []
  )
  labels      = server_labels(major, debian)
  annotations = annotations(server_labels(major, debian))
}

// The tag with the time names one image for ever. Who trusts the other one gets corrections of the packaging.
target "image-volume" {
  name     = "image-volume-${major}-${debian}"
  matrix   = { major = volume_majors, debian = debians }
  inherits = ["common"]
  target   = "image-volume"
  args     = { PG_MAJOR = major, DEBIAN = debian }
  tags = [
    "${REGISTRY}/flakeid:${VERSION}-${major}-${debian}",
    "${REGISTRY}/flakeid:${VERSION}-${formatdate("YYYYMMDDhhmm", now)}-${major}-${debian}"
  ]
  labels      = volume_labels(major, debian)
  annotations = annotations(volume_labels(major, debian))
}
