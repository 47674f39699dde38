import {
  MULTIPART_MEDIA,
  parseBody,
  readFormFiles,
  type FormFile,
  type SpooledRequest,
  validateBody,
} from '#platform/http';
import { Problem, problem } from '#platform/problem';
import { BYTES_MAX, FILES_MAX, type GivenFile } from '../format/skill-files';
import { withoutDots } from '../format/skill-path';
import { SkillFault } from '../format/skill.fault';
import { contentOfDirectory, type SkillContent } from '../skill-content';
import type { SkillSpecDto } from '../skill-members.dto';
import type { SkillUploadQueryDto } from '../skill.dto';
import { contentOfSpec, ofBody } from './skill-spec';
import { filesOfZip, isZip } from './zip.reader';

export const ZIP_MEDIA = 'application/zip';
export const JSON_MEDIA = 'application/json';
export const UPLOAD_MEDIA = [JSON_MEDIA, MULTIPART_MEDIA, ZIP_MEDIA];

const MIB = 1024 * 1024;

/** An archive may be a little longer than what it holds, by its headers. */
const ZIP_MAX_BYTES = BYTES_MAX + 4 * MIB;
const FORM_MAX_BYTES = ZIP_MAX_BYTES + 4 * MIB;

const FIELD_BYTES = 1024;
/** With those that systems leave in directories. */
const FORM_FILES_MAX = 2 * FILES_MAX;

/** Largest body of an upload, in bytes. @param json that of a JSON body */
export function uploadLimit(json: number, media: string): number {
  if (media === ZIP_MEDIA) return ZIP_MAX_BYTES;
  return media === MULTIPART_MEDIA ? FORM_MAX_BYTES : json;
}

/** A version of a skill on its way in, in whichever of the three forms it came. */
export interface SkillUpload {
  /** The workspace that it names. */
  workspaceId: string | undefined;
  /** The name that it gives the skill. */
  name: string | undefined;
  /** What it holds, as a version of the skill of this name. Errors: 400. */
  contentFor(name: string): SkillContent;
  /** The same problem, where it is about the workspace, and that stands elsewhere than in the body. */
  ofWorkspace(problem: Problem): Problem;
}

/** How an upload as JSON is read. */
type SpecType = new () => SkillSpecDto & { workspace_id?: string; name?: string | null };

/**
 * Takes an upload apart. It is held in memory: at most some 70 MiB, an archive and what it holds. Errors: 400 for what
 * is no skill, or a workspace that stands where this form has none; 413; 415 for a part that is not UTF-8 by its own
 * account.
 */
export async function readUpload(
  request: SpooledRequest,
  media: string,
  query: SkillUploadQueryDto,
  type: SpecType,
): Promise<SkillUpload> {
  const workspaceId = query.workspace_id;
  if (media === ZIP_MEDIA) {
    return ofDirectory(workspaceId, await filesIn(await request.file.read()), ofParameter);
  }
  if (workspaceId !== undefined) {
    throw problem.invalidQuery(
      'workspace_id',
      'goes with application/zip; elsewhere it is a member of the body',
    );
  }
  return media === MULTIPART_MEDIA ? readForm(request) : readSpec(request, type);
}

async function readForm(request: SpooledRequest): Promise<SkillUpload> {
  const { fields, files } = await readFormFiles(request, {
    fields: ['workspace_id'],
    fieldBytes: FIELD_BYTES,
    filesMax: FORM_FILES_MAX,
  });
  const [first] = files;
  if (!first)
    throw problem.invalidFields([{ pointer: '/file', detail: 'is required: a part with a filename' }]);
  const given =
    files.length === 1 && isArchive(first)
      ? await filesIn(first.content)
      : files.map(({ filename, content }) => ({ path: withoutDots(filename), content }));
  return ofDirectory(fields.workspace_id, given, (fault) => fault);
}

/** One file is an archive by its name, or by what it is said to be and begins with. */
const isArchive = ({ filename, mediaType, content }: FormFile): boolean =>
  /\.zip$/i.test(filename) || (mediaType === ZIP_MEDIA && isZip(content));

async function filesIn(zip: Buffer): Promise<GivenFile[]> {
  try {
    return await filesOfZip(zip);
  } catch (error) {
    throw error instanceof SkillFault ? ofBody(error) : error;
  }
}

function ofDirectory(
  workspaceId: string | undefined,
  given: readonly GivenFile[],
  ofWorkspace: SkillUpload['ofWorkspace'],
): SkillUpload {
  try {
    const content = contentOfDirectory(given);
    return { workspaceId, name: content.members.name, contentFor: () => content, ofWorkspace };
  } catch (error) {
    throw error instanceof SkillFault ? ofBody(error) : error;
  }
}

async function readSpec({ file }: SpooledRequest, type: SpecType): Promise<SkillUpload> {
  const dto = validateBody(type, parseBody(await file.read()));
  return {
    workspaceId: dto.workspace_id,
    name: dto.name ?? undefined,
    contentFor: (name) => contentOfSpec(name, dto),
    ofWorkspace: (fault) => fault,
  };
}

/** The same problem of a workspace that the query names. */
function ofParameter({ code, detail, errors: [first] = [] }: Problem): Problem {
  const errors = [{ parameter: 'workspace_id', detail: first?.detail ?? detail }];
  if (code === 'invalid_request') return problem.invalidQueries(errors);
  return code === 'validation_failed' ? problem.validationFailed(errors) : new Problem(code, detail);
}
