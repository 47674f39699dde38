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

/** Largest `manifest.json`, in bytes. One of 10,000 files with long paths has less. */
const MANIFEST_BYTES_MAX = 64 * 1024 * 1024;

/** A component that is read from a package. Its files must be read before the next component. */
export interface PackagedComponent extends PackedManifestComponent {
  /** Relative to the directory of the component. */
  files: AsyncIterable<UnpackedFile>;
}

/**
 * Reads the components of a package of the store in their order, in constant memory. Only the end of the iteration shows
 * that the package is complete. Throws `ArchiveError` for a damaged package, and what the source throws.
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
      // skips what the consumer left
      while ((await files.take(directory)) !== null);
    }
    if (!(await files.isAtEnd()))
      throw new ArchiveError('The package has a file that belongs to no component.');
  } finally {
    await files.close();
  }
}

/** Runs work that reads a stored package. A package that cannot be read is an error of the service. */
export async function reading<Result>(work: () => Promise<Result>): Promise<Result> {
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
  if (file.size_bytes > MANIFEST_BYTES_MAX) throw new ArchiveError('The manifest.json is too large.');
  const manifest = JSON.parse((await buffer(file.content)).toString()) as PackedManifest;
  if (manifest.schema_version !== SCHEMA_VERSION || manifest.adapter !== ADAPTER) {
    throw new ArchiveError('The package has another format.');
  }
  return manifest;
}

/** The files of an archive, with one file of lookahead. */
class Lookahead {
  private next: Promise<IteratorResult<ArchivedFile, void>> | undefined;

  constructor(private readonly files: AsyncGenerator<ArchivedFile, void, undefined>) {}

  /** Takes the next file if its path begins with this text. Its content must be read before the following file is taken. */
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
