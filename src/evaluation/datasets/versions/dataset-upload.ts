import type { Scope } from '#platform/auth';
import {
  type IncomingRequest,
  MULTIPART_MEDIA,
  readFormWithFile,
  readJson,
  type SpooledFile,
  validateBody,
} from '#platform/http';
import { JsonInputError, parseJson } from '#platform/json';
import { formatBytes, Problem, problem } from '#platform/problem';
import { checkWorkspaceOfCreate, pick } from '../../../resources';
import { CASE_PARTS, type CsvOptions } from './csv/csv.columns';
import {
  CreateDatasetVersionDto,
  CsvMappingDto,
  type CsvOptionsDto,
  CsvTextOptionsDto,
  type DatasetVersionUploadQueryDto,
} from './dataset-version.dto';

export const CSV_MAX_BYTES = 32 * 1024 * 1024;

export const CSV_MEDIA = 'text/csv';
export const JSON_MEDIA = 'application/json';

/** Maximum size of the fields of a form, in bytes. */
const FORM_FIELD_BYTES = 512 * 1024;
const FORM_MAX_BYTES = CSV_MAX_BYTES + 2 * FORM_FIELD_BYTES;

/** Returns the maximum body of an upload, in bytes. @param json the maximum JSON body */
export function uploadLimit(json: number, media: string): number {
  if (media === CSV_MEDIA) return CSV_MAX_BYTES;
  return media === MULTIPART_MEDIA ? FORM_MAX_BYTES : json;
}

/** An uploaded CSV file, sent as text, in a form or in JSON. */
export interface CsvUpload {
  file: SpooledFile;
  options: CsvOptions;
  /** Returns the 400 for a fault in the file. */
  fileProblem: (detail: string) => Problem;
  /** Returns the 400 for a fault in the options. @param pointer into the options, as in `LayoutFault` */
  optionsProblem: (pointer: string, detail: string) => Problem;
}

/** The parts of an upload whose options are not read yet. */
export interface ReceivedUpload {
  request: IncomingRequest;
  /** The CSV file, or the complete body if it is JSON. */
  file: SpooledFile;
  /** The options in the query or in the form. Empty for JSON. */
  options: Record<string, string | undefined>;
}

/** Receives an upload. Errors: 400 for options in the query of a form or of JSON, and for a malformed form; 413. */
export async function receiveUpload(
  request: IncomingRequest,
  { dry_run: _, ...options }: DatasetVersionUploadQueryDto,
): Promise<ReceivedUpload> {
  if (request.mediaType === CSV_MEDIA) return { request, file: await request.spool(), options };
  const misplaced = Object.entries(options).find(([, value]) => value !== undefined);
  if (misplaced) {
    throw problem.invalidQuery(
      misplaced[0],
      'applies only to text/csv. In a form or in JSON, send it as a member of the body',
    );
  }
  if (request.mediaType !== MULTIPART_MEDIA) return { request, file: await request.spool(), options };
  const rules = {
    file: 'file',
    fileBytes: CSV_MAX_BYTES,
    fields: ['workspace_id', 'case_id_column', 'mapping'],
    fieldBytes: FORM_FIELD_BYTES,
  };
  const form = await readFormWithFile(request, rules, (content) => request.spool(content));
  return { request, file: form.stored, options: form.fields };
}

/** Reads the parts of an upload. Errors: 400 for malformed options, and for another workspace than the header's; 413. */
export async function readUpload(scope: Scope, upload: ReceivedUpload): Promise<CsvUpload> {
  const { mediaType } = upload.request;
  if (mediaType === CSV_MEDIA) return readText(scope, upload);
  return mediaType === MULTIPART_MEDIA ? readForm(scope, upload) : readDto(scope, upload);
}

function readText(scope: Scope, { file, options }: ReceivedUpload): CsvUpload {
  const { workspace_id, case_id_column, mapping } = options;
  if (workspace_id !== undefined && workspace_id !== scope.workspaceId) {
    throw problem.invalidQuery('workspace_id', 'must be the workspace that X-Service-Workspace-Id names');
  }
  const optionsProblem = (pointer: string, detail: string): Problem => {
    const [, parameter = '', ...within] = pointer.split('/');
    return problem.invalidQuery(parameter, within.length > 0 ? `/${within.join('/')} ${detail}` : detail);
  };
  return {
    file,
    options: optionsOf({ case_id_column, mapping: mappingOf(mapping, optionsProblem) }),
    fileProblem: (detail) =>
      problem.invalidRequest(`In the body, ${detail}`, { errors: [{ pointer: '', detail }] }),
    optionsProblem,
  };
}

function readForm(scope: Scope, { file, options }: ReceivedUpload): CsvUpload {
  const { workspace_id, case_id_column, mapping } = validateBody(CsvTextOptionsDto, options);
  if (workspace_id !== undefined) checkWorkspaceOfCreate(scope, workspace_id);
  return {
    file,
    options: optionsOf({ case_id_column, mapping: mappingOf(mapping, problem.invalidField) }),
    fileProblem: (detail) => problem.invalidField('/file', detail),
    optionsProblem: problem.invalidField,
  };
}

async function readDto(scope: Scope, { request, file: body }: ReceivedUpload): Promise<CsvUpload> {
  const dto = readJson(await body.read(), CreateDatasetVersionDto);
  checkWorkspaceOfCreate(scope, dto.workspace_id);
  const content = Buffer.from(dto.content);
  if (content.length > CSV_MAX_BYTES) {
    throw new Problem('payload_too_large', `content can have at most ${formatBytes(CSV_MAX_BYTES)}.`);
  }
  return {
    file: await request.spool([content]),
    options: optionsOf(dto),
    fileProblem: (detail) => problem.invalidField('/content', detail),
    optionsProblem: problem.invalidField,
  };
}

type ToOptionsProblem = CsvUpload['optionsProblem'];

/** Parses a mapping that was sent as text. */
function mappingOf(text: string | undefined, problemOf: ToOptionsProblem): CsvMappingDto | null {
  if (text === undefined) return null;
  let value: unknown;
  try {
    value = parseJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof JsonInputError)) throw error;
    throw problemOf(`/mapping${error.pointer}`, detailOfText(error.detail));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw problemOf('/mapping', 'must be a JSON object');
  }
  try {
    return validateBody(CsvMappingDto, value);
  } catch (error) {
    const [first] = error instanceof Problem ? (error.errors ?? []) : [];
    if (!first || !('pointer' in first)) throw error;
    throw problemOf(`/mapping${first.pointer}`, first.detail);
  }
}

/** Removes the mention of the body from a parser's message, because the text is a form field or a parameter. */
const detailOfText = (detail: string): string =>
  detail.startsWith('The body')
    ? `must be JSON: ${detail.replace('The body is not JSON: ', '').replace('The body', 'it')}`
    : detail;

export function optionsOf({ case_id_column, mapping }: CsvOptionsDto): CsvOptions {
  return {
    caseIdColumn: case_id_column ?? null,
    mapping: mapping ? pick(mapping, CASE_PARTS) : null,
  };
}
