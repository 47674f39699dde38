import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy, { type Busboy } from 'busboy';
import { formatBytes, Problem, problem } from '#platform/problem';
import type { IncomingRequest } from './incoming-request';

export const MULTIPART_MEDIA = 'multipart/form-data';

/** Maximum number of parts. Parts that no rule names are skipped. */
const PARTS_MAX = 50;
const PART_HEADERS_MAX = 20;

/** At most 70 characters (RFC 2046), because searching for a longer boundary takes longer. */
const BOUNDARY = /;\s*boundary=(?:"[^"]{1,70}"|[^\s";]{1,70})\s*(?:;|$)/i;

interface FieldRules {
  /** Names of the parts to return as fields. Each may be absent. */
  fields: readonly string[];
  /** Largest field, in bytes. */
  fieldBytes: number;
}

/** Metadata of a file from the headers of its part. Untrusted. */
interface PartInfo {
  filename: string;
  /** In lower case and without parameters. */
  mediaType: string;
}

export interface FormWithFileRules extends FieldRules {
  /** Name of the one part that is a file. */
  file: string;
  /** Largest file, in bytes. */
  fileBytes: number;
}

/** A form with one file. */
export interface FormWithFile<Stored> extends PartInfo {
  /** The fields that were sent, as text. */
  fields: Record<string, string>;
  /** The result of `store`. */
  stored: Stored;
}

/**
 * Reads a form (RFC 7578) with one file as it arrives, in bounded memory. Fields may come before and after the file. Throws
 * 400 for a malformed form, for a file that is missing, duplicated or a plain field, and for a duplicated field; 413 for a
 * file or field that is too large; and the errors of `store`.
 *
 * @param store receives the content of the file, which throws 413 beyond `fileBytes`, and the error of a broken connection
 * @param discard called with the result of `store` if another part is rejected
 */
export async function readFormWithFile<Stored>(
  { bytes, contentType }: Pick<IncomingRequest, 'bytes' | 'contentType'>,
  rules: FormWithFileRules,
  store: (content: AsyncIterable<Buffer>) => Promise<Stored>,
  discard?: (stored: Stored) => Promise<void>,
): Promise<FormWithFile<Stored>> {
  const { file: name, fileBytes } = rules;
  const oneFile = `must have exactly one file, in the part ${name}`;
  let upload: Omit<FormWithFile<Stored>, 'fields'> | undefined;
  const take: TakeFile = async (part, content, info) => {
    if (part !== name) throw malformed(oneFile);
    upload = { stored: await store(limitSize(content, fileBytes)), ...info };
  };
  const limits = { files: 1, fileSize: fileBytes + 1, parts: PARTS_MAX };
  try {
    const fields = await new FormParser(bytes, contentType, rules, limits, take, oneFile, name).parse();
    return { ...(upload ?? noFile(name)), fields };
  } catch (error) {
    if (upload) await discard?.(upload.stored);
    throw error;
  }
}

async function* limitSize(content: Readable, limit: number): AsyncGenerator<Buffer, void, undefined> {
  let size = 0;
  for await (const chunk of content) {
    size += (chunk as Buffer).length;
    if (size > limit) throw tooLarge(limit);
    yield chunk as Buffer;
  }
}

const tooLarge = (limit: number): Problem =>
  new Problem('payload_too_large', `The file exceeds ${formatBytes(limit)}. Send a smaller one.`);

function noFile(name: string): never {
  throw problem.invalidField(`/${name}`, 'is required: a part with a filename');
}

export interface FormFilesRules extends FieldRules {
  /** Maximum number of parts that are files. */
  filesMax: number;
}

/** A file of a form, in memory. */
export interface FormFile extends PartInfo {
  content: Buffer;
}

export interface FormWithFiles {
  /** The fields that were sent, as text. */
  fields: Record<string, string>;
  /** In the order of their parts. Their names are complete paths, as sent. */
  files: FormFile[];
}

/**
 * Reads a form (RFC 7578) with several files, in parts of any names. Holds the files in memory, so the route's body limit
 * must be small. Throws the errors of `readFormWithFile`, and 400 for too many files.
 */
export async function readFormFiles(
  bytes: AsyncIterable<Buffer>,
  contentType: string,
  rules: FormFilesRules,
): Promise<FormWithFiles> {
  const { filesMax } = rules;
  const files: FormFile[] = [];
  const take: TakeFile = async (_, content, info) => {
    const file = { ...info, content: Buffer.alloc(0) };
    files.push(file);
    const chunks: Buffer[] = [];
    for await (const chunk of content) chunks.push(chunk as Buffer);
    file.content = Buffer.concat(chunks);
  };
  const limits = { files: filesMax, parts: filesMax + PARTS_MAX };
  const tooMany = `can have at most ${filesMax} files`;
  const parser = new FormParser(bytes, contentType, rules, limits, take, tooMany);
  return { fields: await parser.parse(), files };
}

type TakeFile = (name: string | undefined, content: Readable, info: PartInfo) => Promise<void>;

/** Parses the parts of a form, in any order: files go to `takeFile`, the fields named by the rules are returned. */
class FormParser {
  private readonly fields = new Map<string, string>();
  private readonly taking: Promise<void>[] = [];
  /** An error of storing a file, as opposed to a fault of the form. */
  private failure: { error: unknown } | undefined;
  private readonly parser: Busboy;

  constructor(
    private readonly bytes: AsyncIterable<Buffer>,
    contentType: string,
    private readonly rules: FieldRules,
    limits: busboy.Limits & { parts: number },
    private readonly takeFile: TakeFile,
    tooManyFiles: string,
    private readonly fileField?: string,
  ) {
    if (!BOUNDARY.test(contentType)) {
      throw malformed('must name a boundary of 1 to 70 characters in Content-Type');
    }
    this.parser = busboy({
      headers: { 'content-type': contentType },
      defParamCharset: 'utf8',
      preservePath: fileField === undefined,
      // busboy cuts a part that reaches its limit
      limits: { ...limits, fieldSize: rules.fieldBytes + 1, headerPairs: PART_HEADERS_MAX },
    })
      .on('field', (name: string | undefined, value, { valueTruncated }) => {
        try {
          this.takeField(name, value, valueTruncated);
        } catch (error) {
          this.parser.destroy(error as Error);
        }
      })
      .on('file', (name: string | undefined, content, { filename, mimeType }: Partial<busboy.FileInfo>) => {
        // the parser reports its own errors
        let parserError: unknown;
        content.on('error', (error) => (parserError = error));
        const info = { filename: filename ?? '', mediaType: (mimeType ?? '').toLowerCase() };
        const taking = this.takeFile(name, content, info);
        taking.catch((error: unknown) => {
          if (error !== parserError) this.failure ??= { error };
          this.parser.destroy(error as Error);
        });
        this.taking.push(taking);
      })
      .on('filesLimit', () => this.parser.destroy(malformed(tooManyFiles)))
      .on('partsLimit', () => this.parser.destroy(malformed(`can have at most ${limits.parts} parts`)));
  }

  /** Returns the fields once all files are stored. */
  async parse(): Promise<Record<string, string>> {
    try {
      await pipeline(this.bytes, this.parser);
      await Promise.all(this.taking);
    } catch (error) {
      // the caller discards the stored files
      await Promise.allSettled(this.taking);
      if (this.failure) throw this.failure.error;
      throw error instanceof Problem ? error : malformed('is not well-formed', error);
    }
    return Object.fromEntries(this.fields);
  }

  private takeField(name: string | undefined, value: string, isTruncated: boolean): void {
    const invalid = (detail: string): Problem => problem.invalidField(`/${name}`, detail);
    if (name !== undefined && name === this.fileField) {
      throw invalid('must be a file: a part with a filename in its Content-Disposition');
    }
    const { fields, fieldBytes } = this.rules;
    if (name === undefined || !fields.includes(name)) return;
    if (isTruncated)
      throw new Problem('payload_too_large', `${name} can have at most ${formatBytes(fieldBytes)}.`);
    if (this.fields.has(name)) throw invalid('must appear only once');
    if (value.includes('\0')) throw invalid('must not contain a NUL character');
    this.fields.set(name, value);
  }
}

const malformed = (detail: string, cause?: unknown): Problem =>
  problem.invalidRequest(`The ${MULTIPART_MEDIA} body ${detail}.`, { cause });
