import type { Readable } from 'node:stream';
import { Problem, problem } from '#platform/problem';
import { type FieldRules, FormParser, type PartInfo } from './form.parser';
import { malformedForm } from './part-headers';
import type { SpooledRequest } from './spooled-body.decorator';
import type { SpooledFile } from './spooled-file';

/** Parts that no rule names are read over, as unknown members of a JSON body are; but not without end. */
const PARTS_MAX = 50;

export interface MultipartRules extends FieldRules {
  /** Name of the one part that is a file. */
  file: string;
  /** Largest file, in bytes. */
  fileBytes: number;
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
  const { file: name, fileBytes } = rules;
  let taken: Omit<MultipartForm, 'fields'> | undefined;
  const take = async (part: string | undefined, content: Readable, info: PartInfo): Promise<void> => {
    if (part !== name) throw malformedForm(`may have one file, in the part ${name}`);
    const file = await request.file.createPart();
    for await (const chunk of content) await file.append(chunk as Buffer);
    if (file.size > fileBytes) {
      throw new Problem('payload_too_large', `The file may have at most ${fileBytes} bytes.`);
    }
    file.finish();
    taken = { file, ...info };
  };
  const limits = { partsMax: PARTS_MAX, filesMax: 1, fileBytes };
  const parser = new FormParser(request, { ...rules, fileParts: [name], ...limits }, take);
  parser.onManyFiles(() => malformedForm(`may have one file, in the part ${name}`));
  const fields = await parser.parse();
  if (!taken) {
    throw problem.invalidFields([{ pointer: `/${name}`, detail: 'is required: a part with a filename' }]);
  }
  return { ...taken, fields };
}

export interface FormFilesRules extends FieldRules {
  /** Most parts that are files. */
  filesMax: number;
}

/** A file of a form, held whole. */
export interface FormFile extends PartInfo {
  content: Buffer;
}

export interface FormWithFiles {
  /** The fields that were sent, as text. */
  fields: Record<string, string>;
  /** In the order of their parts. The names are paths as the sender has them, whole. */
  files: FormFile[];
}

/**
 * Reads a form (RFC 7578) with any number of files, in parts of whatever names. The files are held in memory: for
 * bodies whose limit is small. Errors: as of `readMultipart`, and 400 for too many files.
 */
export async function readFormFiles(request: SpooledRequest, rules: FormFilesRules): Promise<FormWithFiles> {
  const files: FormFile[] = [];
  const take = async (_: string | undefined, content: Readable, info: PartInfo): Promise<void> => {
    const file = { ...info, content: Buffer.alloc(0) };
    files.push(file);
    const chunks: Buffer[] = [];
    for await (const chunk of content) chunks.push(chunk as Buffer);
    file.content = Buffer.concat(chunks);
  };
  const limits = { partsMax: rules.filesMax + PARTS_MAX, filesMax: rules.filesMax, keepsPaths: true };
  const parser = new FormParser(request, { ...rules, fileParts: [], ...limits }, take);
  parser.onManyFiles(() => malformedForm(`may have at most ${rules.filesMax} files`));
  return { fields: await parser.parse(), files };
}
