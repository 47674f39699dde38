import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy, { type Busboy, type FileInfo } from 'busboy';
import { Problem, problem } from '#platform/problem';
import { checkCharset } from './media-type';
import { boundaryOf, contentTypeIn, malformedForm, PartHeaders } from './part-headers';
import type { SpooledRequest } from './spooled-body.decorator';

const HEADERS_MAX = 20;

/** What is taken of a form besides its files. */
export interface FieldRules {
  /** Names of the parts that are taken and no files; each may be left out. */
  fields: readonly string[];
  /** Largest field, in bytes. */
  fieldBytes: number;
}

export interface FormRules extends FieldRules {
  /** Names of parts that must be files. */
  fileParts: readonly string[];
  partsMax: number;
  filesMax: number;
  /** Largest file, in bytes; one more byte of a larger one is handed on. Absent: the body's limit is theirs. */
  fileBytes?: number;
  /** A file's name is told with its directories. */
  keepsPaths?: boolean;
}

/** What a part says of its file. Not to be trusted. */
export interface PartInfo {
  filename: string;
  /** In lower case and without parameters. */
  mediaType: string;
}

type TakeFile = (name: string | undefined, content: Readable, info: PartInfo) => Promise<void>;

/**
 * Parses a form (RFC 7578) from a body that was spooled, in bounded memory and in any order of its parts. Errors: 400
 * for what is not well-formed, and for a field that comes twice; 413 for a field that is too large; 415 for a part that
 * is not UTF-8 by its own account.
 */
export class FormParser {
  private readonly fields = new Map<string, string>();
  private readonly copying: Promise<void>[] = [];
  private readonly parser: Busboy;
  private readonly headers: PartHeaders;

  /** @param takeFile is given each file as it comes, to be read to its end */
  constructor(
    private readonly request: SpooledRequest,
    private readonly rules: FormRules,
    private readonly takeFile: TakeFile,
  ) {
    this.headers = new PartHeaders(boundaryOf(request.contentType), rules.partsMax, (header) =>
      checkCharset(contentTypeIn(header) ?? ''),
    );
    this.parser = parserOf(request, rules);
  }

  /** @param fault of a form with more files than it may have */
  onManyFiles(fault: () => Problem): void {
    this.parser.on('filesLimit', () => this.parser.destroy(fault()));
  }

  /** Resolves with the fields when all files are taken. */
  async parse(): Promise<Record<string, string>> {
    const { parser } = this;
    parser.on('field', (name: string | undefined, value, { valueTruncated }) => {
      const fault = this.takeField(name, value, valueTruncated);
      if (fault) parser.destroy(fault);
    });
    parser.on('file', (name: string | undefined, content, info) => {
      // what breaks off the parser breaks off its part, too
      content.on('error', () => undefined);
      const taking = this.takeFile(name, content, infoOf(info));
      taking.catch((error: unknown) => parser.destroy(error as Error));
      this.copying.push(taking);
    });
    try {
      await pipeline(this.checked(), parser);
      await Promise.all(this.copying);
    } catch (error) {
      throw error instanceof Problem
        ? error
        : malformedForm('is not well-formed: it is to be parts between its boundaries, with an end', error);
    }
    return Object.fromEntries(this.fields);
  }

  /** The body, with its boundaries and every part's charset checked before the part is parsed. */
  private async *checked(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of this.request.file.chunks()) {
      this.headers.push(chunk);
      yield chunk;
    }
  }

  private takeField(name: string | undefined, value: string, isCut: boolean): Problem | null {
    const { fileParts, fields, fieldBytes } = this.rules;
    if (name === undefined) return null;
    const pointer = `/${name}`;
    if (fileParts.includes(name)) {
      const detail = 'must be a file: a part with a filename in its Content-Disposition';
      return problem.invalidFields([{ pointer, detail }]);
    }
    if (!fields.includes(name)) return null;
    if (isCut) return new Problem('payload_too_large', `${name} may have at most ${fieldBytes} bytes.`);
    if (this.fields.has(name)) return problem.invalidFields([{ pointer, detail: 'may not be there twice' }]);
    if (value.includes('\0'))
      return problem.invalidFields([{ pointer, detail: 'may not hold a NUL character' }]);
    this.fields.set(name, value);
    return null;
  }
}

const infoOf = ({ filename, mimeType }: Partial<FileInfo>): PartInfo => ({
  filename: filename ?? '',
  mediaType: (mimeType ?? '').toLowerCase(),
});

function parserOf({ contentType }: SpooledRequest, rules: FormRules): Busboy {
  const { filesMax, fileBytes = Infinity, fieldBytes, keepsPaths = false } = rules;
  try {
    return busboy({
      headers: { 'content-type': contentType },
      defParamCharset: 'utf8',
      preservePath: keepsPaths,
      limits: {
        files: filesMax,
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
