import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy, { type Busboy, type FileInfo } from 'busboy';
import { Problem, problem } from '#platform/problem';
import { checkCharset } from './media-type';
import { boundaryOf, contentTypeIn, malformedForm, PartHeaders } from './part-headers';
import type { SpooledRequest } from './spooled-body.decorator';
import type { SpooledFile } from './spooled-file';

/** Parts that no rule names are read over, as unknown members of a JSON body are; but not without end. */
const PARTS_MAX = 50;
const HEADERS_MAX = 20;

export interface MultipartRules {
  /** Name of the one part that is a file. */
  file: string;
  /** Largest file, in bytes. */
  fileBytes: number;
  /** Names of the other parts that are taken; each may be left out. */
  fields: readonly string[];
  /** Largest field, in bytes. */
  fieldBytes: number;
}

export interface MultipartForm {
  /** The fields that were sent, as text. */
  fields: Record<string, string>;
  /** Closed with the request's own file. */
  file: SpooledFile;
  /** As the sender calls it, without a path; not to be trusted. */
  filename: string;
  /** The part's own media type, in lower case and without parameters. */
  mediaType: string;
}

/**
 * Reads a form (RFC 7578) with one file from a body that was spooled, in bounded memory and in any order of its parts.
 * Errors: 400 for what is not well-formed, for a file that is missing, comes twice or is no file, and for a field that
 * comes twice; 413 for a file or field that is too large; 415 for a part that is not UTF-8 by its own account.
 */
export async function readMultipart(request: SpooledRequest, rules: MultipartRules): Promise<MultipartForm> {
  const reader = new MultipartReader(request, rules);
  return reader.read();
}

class MultipartReader {
  private readonly fields = new Map<string, string>();
  private file: Omit<MultipartForm, 'fields'> | undefined;
  private copying: Promise<void> = Promise.resolve();
  private readonly parser: Busboy;
  private readonly headers: PartHeaders;

  constructor(
    private readonly request: SpooledRequest,
    private readonly rules: MultipartRules,
  ) {
    this.headers = new PartHeaders(boundaryOf(request.contentType), PARTS_MAX, (header) =>
      checkCharset(contentTypeIn(header) ?? ''),
    );
    this.parser = parserOf(request, rules);
  }

  async read(): Promise<MultipartForm> {
    const { parser, rules } = this;
    parser.on('field', (name: string | undefined, value, { valueTruncated }) => {
      const fault = this.takeField(name, value, valueTruncated);
      if (fault) parser.destroy(fault);
    });
    parser.on('file', (name: string | undefined, content, info) => {
      this.copying = this.takeFile(name, content, info);
      this.copying.catch((error: unknown) => parser.destroy(error as Error));
    });
    parser.on('filesLimit', () =>
      parser.destroy(malformedForm(`may have one file, in the part ${rules.file}`)),
    );
    try {
      await pipeline(this.checked(), parser);
      await this.copying;
    } catch (error) {
      throw error instanceof Problem
        ? error
        : malformedForm('is not well-formed: it is to be parts between its boundaries, with an end', error);
    }
    if (!this.file) {
      throw problem.invalidFields([
        { pointer: `/${rules.file}`, detail: 'is required: a part with a filename' },
      ]);
    }
    return { ...this.file, fields: Object.fromEntries(this.fields) };
  }

  /** The body, with its boundaries and every part's charset checked before the part is parsed. */
  private async *checked(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of this.request.file.chunks()) {
      this.headers.push(chunk);
      yield chunk;
    }
  }

  private takeField(name: string | undefined, value: string, isCut: boolean): Problem | null {
    const { file, fields, fieldBytes } = this.rules;
    if (name === file) {
      const detail = 'must be a file: a part with a filename in its Content-Disposition';
      return problem.invalidFields([{ pointer: `/${file}`, detail }]);
    }
    if (name === undefined || !fields.includes(name)) return null;
    if (isCut) return new Problem('payload_too_large', `${name} may have at most ${fieldBytes} bytes.`);
    const pointer = `/${name}`;
    if (this.fields.has(name)) return problem.invalidFields([{ pointer, detail: 'may not be there twice' }]);
    if (value.includes('\0'))
      return problem.invalidFields([{ pointer, detail: 'may not hold a NUL character' }]);
    this.fields.set(name, value);
    return null;
  }

  private async takeFile(
    name: string | undefined,
    content: Readable,
    info: Partial<FileInfo>,
  ): Promise<void> {
    // what breaks off the parser breaks off its part, too
    content.on('error', () => undefined);
    if (name !== this.rules.file) throw malformedForm(`may have one file, in the part ${this.rules.file}`);
    const file = await this.request.file.createPart();
    for await (const chunk of content) await file.append(chunk as Buffer);
    if (file.size > this.rules.fileBytes) {
      throw new Problem('payload_too_large', `The file may have at most ${this.rules.fileBytes} bytes.`);
    }
    file.finish();
    this.file = { file, filename: info.filename ?? '', mediaType: (info.mimeType ?? '').toLowerCase() };
  }
}

function parserOf({ contentType }: SpooledRequest, { fileBytes, fieldBytes }: MultipartRules): Busboy {
  try {
    return busboy({
      headers: { 'content-type': contentType },
      defParamCharset: 'utf8',
      limits: {
        files: 1,
        // to busboy, what just reaches these is cut
        fileSize: fileBytes + 1,
        fieldSize: fieldBytes + 1,
        headerPairs: HEADERS_MAX,
      },
    });
  } catch (error) {
    throw malformedForm('has a Content-Type that is not well-formed', error);
  }
}
