import { buffer } from 'node:stream/consumers';
import { Problem } from '#platform/problem';
import type { UnpackedFile } from '../../resources';
import { type ArchivedFile, ArchiveError, unpackArchive } from './package-archive';
import {
  ADAPTER,
  directoryOf,
  MANIFEST_FILE,
  type PackedManifest,
  type PackedManifestComponent,
  SCHEMA_VERSION,
} from './package-manifest';

/** The maximum size of `manifest.json` in bytes. A manifest of 10,000 files with long paths is smaller. */
const MANIFEST_BYTES_MAX = 64 * 1024 * 1024;

/** A component read from a package. Its files must be read before the next component. */
export interface PackagedComponent extends PackedManifestComponent {
  /** Relative to the directory of the component. */
  files: AsyncIterable<UnpackedFile>;
}

/**
 * Reads the components of a package in order and in constant memory. The package is known to be complete only when the
 * iteration has ended. Throws `ArchiveError` for a damaged package, and the errors of the source.
 */
export async function* readPackage(
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<PackagedComponent, void, undefined> {
  const files = new Lookahead(unpackArchive(bytes));
  try {
    const manifest = await readManifest(await files.take(MANIFEST_FILE));
    for (const component of manifest.components) {
      const directory = directoryOf(component.key);
      const own = filesIn(files, directory);
      yield { ...component, files: own };
      // Skip the files that the consumer has not read.
      while ((await files.take(directory)) !== null);
    }
    if (!(await files.isAtEnd()))
      throw new ArchiveError('The package has a file that belongs to no component.');
  } finally {
    await files.close();
  }
}

/** Runs work that reads a stored package. Errors: 503 `storage_unavailable` for a damaged package; those of `work`. */
export async function translateArchiveErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new Problem('storage_unavailable', 'The package is damaged. Ask its publisher for a new release.', {
      cause: error,
    });
  }
}

async function* filesIn(files: Lookahead, directory: string): AsyncGenerator<UnpackedFile, void, undefined> {
  for (let file = await files.take(directory); file !== null; file = await files.take(directory)) {
    yield { ...file, path: file.path.slice(directory.length) };
  }
}

async function readManifest(file: ArchivedFile | null): Promise<PackedManifest> {
  if (!file) throw new ArchiveError('The package does not begin with manifest.json.');
  if (file.size_bytes > MANIFEST_BYTES_MAX) throw new ArchiveError('manifest.json is too large.');
  const manifest = JSON.parse((await buffer(file.content)).toString()) as PackedManifest;
  if (manifest.schema_version !== SCHEMA_VERSION || manifest.adapter !== ADAPTER) {
    throw new ArchiveError('The package has an unsupported format.');
  }
  return manifest;
}

/** The files of an archive, with one file of lookahead. */
class Lookahead {
  private next: Promise<IteratorResult<ArchivedFile, void>> | undefined;

  constructor(private readonly files: AsyncGenerator<ArchivedFile, void, undefined>) {}

  /** Takes the next file if its path starts with `prefix`. Read its content before taking the following file. */
  async take(prefix: string): Promise<ArchivedFile | null> {
    const { value } = await this.peek();
    if (!value?.path.startsWith(prefix)) return null;
    this.next = undefined;
    return value;
  }

  async isAtEnd(): Promise<boolean> {
    return (await this.peek()).done === true;
  }

  async close(): Promise<void> {
    await this.files.return();
  }

  private peek(): Promise<IteratorResult<ArchivedFile, void>> {
    return (this.next ??= this.files.next());
  }
}
