import type { ArtifactKind } from '../../resources';

export const SCHEMA_VERSION = 1;
export const ADAPTER = 'native';
export const ADAPTER_VERSION = 1;
export const FORMAT = 'tar+gzip';

/** The first file of a package. */
export const MANIFEST_FILE = 'manifest.json';

/** A component in the `manifest.json` of a package. It contains no ids. */
export interface PackedManifestComponent {
  key: string;
  kind: ArtifactKind;
  name: string;
  parent_key: string | null;
}

/** The `manifest.json` of a package. */
export interface PackedManifest {
  schema_version: number;
  adapter: string;
  adapter_version: number;
  format: string;
  /** The key of the published resource. */
  root: string;
  /** In the order of the package. */
  components: PackedManifestComponent[];
  /** All files other than `manifest.json`, in the order of the package. */
  files: { path: string; size_bytes: number; sha256: string }[];
}

/** Returns the directory of a component in the package, with a trailing slash. */
export const directoryOf = (key: string): string => `${key.slice(0, key.lastIndexOf('@sha256:'))}/`;

/** Returns the key of a component. @param digest the digest of its files, in hexadecimal */
export const keyOf = (directory: string, digest: string): string => `${directory}@sha256:${digest}`;
