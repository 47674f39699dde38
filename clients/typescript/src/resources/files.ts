import type { Pages } from '../api/calls.cjs';
import type { FileVersion, StoredFile } from '../api/types.cjs';
import { ServiceError } from '../core/errors.js';
import { needNodeModule } from '../core/node.js';
import { isId, type ListOf, Resource } from './resource.js';

/** The path of a file, or bytes, or a stream of bytes. */
export type FileSource = string | Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** Larger files are streamed, so that they need no memory, but are not sent again if the upload fails. In bytes. */
const READ_WHOLE_MAX = 16 * 1024 * 1024;

/** Files and their versions. */
export class Files extends Resource {
  /** Lists the files of the workspace, newest first. */
  list(filters: ListOf<'listFiles'> = {}): Pages<StoredFile> {
    return this.api.listFiles({ ...this.workspace, ...filters });
  }

  /** Returns a file by its name or id. Throws 404 if there is none. */
  async get(file: string): Promise<StoredFile> {
    if (isId(file)) return this.api.getFile({ file_id: file });
    const found = await this.find(file);
    if (found) return found;
    const detail = `There is no file ${file} in the workspace.`;
    throw new ServiceError(
      Response.json(null, { status: 404 }),
      JSON.stringify({ code: 'not_found', detail }),
    );
  }

  /**
   * Uploads a file under this name, or a new version of it if the workspace has one of this name. The same content again
   * makes no version.
   *
   * @param mediaType by default that of a Blob, else `application/octet-stream`
   */
  async upload(
    name: string,
    source: FileSource,
    { mediaType }: { mediaType?: string } = {},
  ): Promise<StoredFile> {
    const options = mediaType === undefined ? {} : { contentType: mediaType };
    const existing = await this.find(name);
    const body = typeof source === 'string' ? await contentOf(source) : source;
    if (!existing) return this.api.createFile({ name, body }, options);
    const { file_id } = existing;
    await this.api.createFileVersion({ file_id, body }, options);
    return this.api.getFile({ file_id });
  }

  /** Returns the content of a file, as a response whose body can be streamed. */
  async content(file: string, { version }: { version?: number } = {}): Promise<Response> {
    const file_id = await this.idOf(file);
    if (version === undefined) return this.api.getFileContent({ file_id });
    return this.api.getFileVersionContent({ file_id, version_ordinal: version });
  }

  /** Writes the content of a file to a path. The path has the old content or the whole new one, never a part of it. */
  async download(file: string, to: string, options: { version?: number } = {}): Promise<void> {
    const { promises } = needNodeModule('fs');
    const part = `${to}.${crypto.randomUUID()}.part`;
    const response = await this.content(file, options);
    try {
      await promises.writeFile(part, response.body ?? '', { flag: 'wx' });
      await promises.rename(part, to);
    } catch (error) {
      await promises.rm(part, { force: true });
      throw error;
    }
  }

  /** Lists the versions of a file, newest first. */
  async *versions(file: string): AsyncGenerator<FileVersion> {
    yield* this.api.listFileVersions({ file_id: await this.idOf(file) });
  }

  private async idOf(file: string): Promise<string> {
    return isId(file) ? file : (await this.get(file)).file_id;
  }

  private async find(name: string): Promise<StoredFile | undefined> {
    const [found] = await this.list({ name }).take(1);
    return found;
  }
}

async function contentOf(path: string): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const { createReadStream, promises } = needNodeModule('fs');
  const { size } = await promises.stat(path);
  return size > READ_WHOLE_MAX
    ? (createReadStream(path) as AsyncIterable<Uint8Array>)
    : promises.readFile(path);
}
