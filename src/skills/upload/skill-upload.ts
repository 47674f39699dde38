import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, getSchemaPath } from '@nestjs/swagger';
import {
  ApiBodies,
  type FormFile,
  type IncomingRequest,
  MULTIPART_MEDIA,
  readFormFiles,
  readJson,
  RequestBody,
  type SpooledFile,
} from '#platform/http';
import { problem, Throws } from '#platform/problem';
import { contentOfDirectory, type SkillContent } from '../format/skill-content';
import { BYTES_MAX, FILES_MAX, type UploadedFile } from '../format/skill-files';
import { withoutDots } from '../format/skill-path';
import { SkillFault } from '../format/skill.fault';
import { contentOfSpec } from './skill-spec';
import type { SkillSpecDto } from './skill-spec.dto';
import { filesOfZip, isZip } from './zip.reader';

export const ZIP_MEDIA = 'application/zip';
/** What clients send for a zip archive, and for a name such as `pdf-forms.skill`. */
const ARCHIVE_MEDIA = [ZIP_MEDIA, 'application/x-zip-compressed', 'application/octet-stream'];
export const isArchiveMedia = (media: string): boolean => ARCHIVE_MEDIA.includes(media);
const JSON_MEDIA = 'application/json';

const MIB = 1024 * 1024;

/** An archive may be slightly larger than its files, because of its headers. */
const ZIP_MAX_BYTES = BYTES_MAX + 4 * MIB;
const FORM_MAX_BYTES = ZIP_MAX_BYTES + 4 * MIB;

const FIELD_BYTES = 1024;
/** Leaves room for system files, which are dropped. */
const FORM_FILES_MAX = 2 * FILES_MAX;

/**
 * Declares that a route takes a skill as JSON, as a form or as a zip archive.
 *
 * @param type the DTO of the JSON form
 * @param required the required fields of the form, in addition to `file`
 */
export const TakesSkill = (type: SpecType, required: readonly string[] = []): MethodDecorator =>
  applyDecorators(
    Throws('invalid_base64', 'storage_unavailable'),
    RequestBody({
      kind: 'streamed',
      media: [JSON_MEDIA, MULTIPART_MEDIA, ...ARCHIVE_MEDIA],
      limit: ({ BODY_LIMIT_BYTES }, media) => limitOf(BODY_LIMIT_BYTES, media),
    }),
    ApiExtraModels(type),
    ApiBodies(bodiesOf({ $ref: getSchemaPath(type) }, required)),
  );

/** Returns the body limit of an upload in bytes. @param json the limit of JSON bodies */
function limitOf(json: number, media: string): number {
  if (isArchiveMedia(media)) return ZIP_MAX_BYTES;
  return media === MULTIPART_MEDIA ? FORM_MAX_BYTES : json;
}

const bodiesOf = (json: object, required: readonly string[]): Record<string, object> => ({
  [JSON_MEDIA]: json,
  [MULTIPART_MEDIA]: {
    type: 'object',
    description:
      'The files of the directory, as parts with any name. The filename of a part is the path of the file. Parent directories that all files share are dropped. You can also send a single part that is a .zip or .skill file.',
    properties: {
      workspace_id: { type: 'string' },
      file: { type: 'array', items: { type: 'string', contentMediaType: 'application/octet-stream' } },
    },
    required: [...required, 'file'],
  },
  ...Object.fromEntries(
    ARCHIVE_MEDIA.map((media) => [
      media,
      {
        type: 'string',
        contentMediaType: media,
        description: `A zip archive of the directory, such as a .skill file, with SKILL.md at its top or in one directory.${required.length > 0 ? ' The workspace goes in the query.' : ''}`,
      },
    ]),
  ),
});

/** A version of a skill in an upload of any of the three forms. */
export interface SkillUpload {
  /** The workspace that the upload names. */
  workspaceId: string | undefined;
  /** The name that the upload gives the skill. */
  name: string | undefined;
  /** The members of an upload as JSON. */
  spec?: SkillSpecDto;
  /** Returns the content of the version, for a skill with this name. Errors: 400. */
  contentFor(name: string): SkillContent;
}

/** The DTO of an upload as JSON. */
type SpecType = new () => SkillSpecDto & { workspace_id?: string; name?: string | null };

/** A received upload. */
export interface SpooledUpload {
  request: IncomingRequest;
  /** The complete body. */
  file: SpooledFile;
}

/**
 * Reads an upload into memory: the archive and its files, at most about 70 MiB. Errors: 400 for an invalid skill and for a
 * workspace in the wrong place; 413.
 */
export async function readUpload(
  upload: SpooledUpload,
  query: { workspace_id?: string | undefined },
  type: SpecType,
): Promise<SkillUpload> {
  const workspaceId = query.workspace_id;
  const { mediaType } = upload.request;
  if (isArchiveMedia(mediaType)) return uploadOf(workspaceId, await readZip(await upload.file.read()));
  if (workspaceId !== undefined) {
    throw problem.invalidQuery(
      'workspace_id',
      'is only for archives. In other uploads, send it in the body.',
    );
  }
  return mediaType === MULTIPART_MEDIA ? readForm(upload) : readSpec(upload, type);
}

async function readForm({ request, file }: SpooledUpload): Promise<SkillUpload> {
  const { fields, files } = await readFormFiles(file.chunks(), request.contentType, {
    fields: ['workspace_id'],
    fieldBytes: FIELD_BYTES,
    filesMax: FORM_FILES_MAX,
  });
  const [first] = files;
  if (!first) {
    throw problem.invalidField('/file', 'is required: a part with a filename');
  }
  const uploaded =
    files.length === 1 && isArchive(first)
      ? await readZip(first.content)
      : files.map(({ filename, content }) => ({ path: withoutDots(filename), content }));
  return uploadOf(fields.workspace_id, uploaded);
}

/** Returns whether a file is an archive, by its name or by its first bytes. */
const isArchive = ({ filename, content }: FormFile): boolean =>
  /\.(?:zip|skill)$/i.test(filename) || isZip(content);

async function readZip(zip: Buffer): Promise<UploadedFile[]> {
  try {
    return await filesOfZip(zip);
  } catch (error) {
    throw toBodyProblem(error);
  }
}

function uploadOf(workspaceId: string | undefined, files: readonly UploadedFile[]): SkillUpload {
  try {
    const content = contentOfDirectory(files, true);
    return { workspaceId, name: content.members.name, contentFor: () => content };
  } catch (error) {
    throw toBodyProblem(error);
  }
}

/** Converts a fault of a directory to a 400. Returns other errors unchanged. */
function toBodyProblem(error: unknown): unknown {
  if (!(error instanceof SkillFault)) return error;
  const { detail, cause } = error;
  return problem.invalidRequest(detail.endsWith('.') ? detail : `${detail}.`, { cause });
}

async function readSpec({ file }: SpooledUpload, type: SpecType): Promise<SkillUpload> {
  const dto = readJson(await file.read(), type);
  return {
    workspaceId: dto.workspace_id,
    name: dto.name ?? undefined,
    spec: dto,
    contentFor: (name) => contentOfSpec(name, dto),
  };
}
