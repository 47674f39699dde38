import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkIfMatch, mediaTypeOf, type SpooledRequest, type Versioned } from '#platform/http';
import { Problem, problem } from '#platform/problem';
import { FairTurns } from '#platform/turns';
import { checkLive, checkNotMoved, readable, within, WorkspaceAccess } from '../registry';
import type { SkillContent } from './skill-content';
import { CreateSkillDto, type SkillDto, type SkillUploadQueryDto } from './skill.dto';
import type { SkillEntity } from './skill.entity';
import { toSkillDto, toSkillVersionDetailDto } from './skill.mapper';
import { SkillRepository } from './skill.repository';
import { newSkill, SkillWriter, withVersion } from './skill-writer';
import { CreateSkillVersionDto, type SkillVersionDetailDto } from './skill-version.dto';
import { SkillVersionRepository } from './skill-version.repository';
import { readUpload, type SkillUpload } from './upload/skill-upload';

const KIND = 'skill';

/** Uploads that a process takes apart and stores at once, each of which may hold some 130 MiB; others wait. */
const UPLOADS_AT_ONCE = 2;
const UPLOADS_WAITING = 50;

/** What an upload came to. */
export interface UploadedVersion {
  view: SkillVersionDetailDto;
  /** Not where the newest version holds the same. */
  isNew: boolean;
}

/** Skills, and versions of them, from directories and from JSON. */
@Injectable()
export class SkillUploadService {
  private readonly turns = new FairTurns(UPLOADS_AT_ONCE, UPLOADS_WAITING);

  constructor(
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly skills: SkillRepository,
    private readonly versions: SkillVersionRepository,
    private readonly writer: SkillWriter,
  ) {}

  /**
   * Makes a skill with its first version. Errors: those of `readUpload`; 400 for an unknown workspace; 403; 409 when it
   * is archived or has a skill of this name; 503 `service_overloaded` where too many uploads wait.
   */
  create(
    scope: OrgScope,
    request: SpooledRequest,
    query: SkillUploadQueryDto,
    signal: AbortSignal,
  ): Promise<Versioned<SkillDto>> {
    return this.inTurn(scope, signal, async () => {
      const upload = await readUpload(request, mediaOf(request), query, CreateSkillDto);
      const { workspaceId, name = '' } = upload;
      if (workspaceId === undefined) throw upload.ofWorkspace(missingWorkspace());
      const content = upload.contentFor(name);
      return this.database.transaction(async (tx) => {
        await this.enter(tx, scope, workspaceId, upload);
        request.file.checkOpen();
        const row = newSkill(scope, workspaceId, content);
        await this.writer.write(tx, scope, [{ before: null, row, files: content.files }]);
        return { view: toSkillDto(row), version: row.generation };
      });
    });
  }

  /**
   * Makes a version, or answers the newest where it holds the same. Errors: those of `readUpload`, 404, 403, 412 for an
   * `If-Match` that is not the skill's ETag any more, 409 when the skill or its workspace is archived, 422 for another name or workspace than the skill's.
   */
  createVersion(
    scope: OrgScope,
    id: string,
    request: SpooledRequest,
    query: SkillUploadQueryDto,
    signal: AbortSignal,
    ifMatch?: string,
  ): Promise<UploadedVersion> {
    return this.inTurn(scope, signal, async () => {
      const upload = await readUpload(request, mediaOf(request), query, CreateSkillVersionDto);
      const { name } = readable(scope, await this.skills.find(scope, id), KIND, id);
      const content = upload.contentFor(name);
      return this.database.transaction(async (tx) => {
        const row = await this.lock(tx, scope, id, upload, ifMatch);
        request.file.checkOpen();
        return this.store(tx, scope, row, content);
      });
    });
  }

  private inTurn<Result>(scope: OrgScope, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    // which workspace it is, the body tells
    return this.turns.take(within(scope, scope.narrowedTo ?? ''), signal, work);
  }

  private async enter(tx: Tx, scope: OrgScope, workspaceId: string, upload: SkillUpload): Promise<void> {
    try {
      await this.access.enter(tx, scope, workspaceId, ['editor']);
    } catch (error) {
      throw error instanceof Problem ? upload.ofWorkspace(error) : error;
    }
  }

  private async lock(
    tx: Tx,
    scope: OrgScope,
    id: string,
    upload: SkillUpload,
    ifMatch: string | undefined,
  ): Promise<SkillEntity> {
    const found = await this.skills.lock(tx, scope, id, 'update');
    const row = await this.access.admit(tx, scope, found, KIND, id, ['editor']);
    checkIfMatch(ifMatch, row.generation);
    checkLive(row, KIND);
    checkNotMoved(row, upload.workspaceId);
    if (upload.name !== undefined && upload.name !== row.name) throw problem.immutableField('/name');
    return row;
  }

  private async store(
    tx: Tx,
    scope: OrgScope,
    before: SkillEntity,
    content: SkillContent,
  ): Promise<UploadedVersion> {
    const isNew = content.source_digest !== before.source_digest;
    const row = isNew ? withVersion(before, content, stateAfterEdit(before)) : before;
    if (isNew) await this.writer.write(tx, scope, [{ before, row, files: content.files }]);
    const version = await this.versions.find(scope, row.skill_id, row.version_ordinal, tx);
    if (!version) throw new Error(`Of ${row.skill_id} version ${row.version_ordinal} is missing.`);
    return { view: toSkillVersionDetailDto(version, content.files), isNew };
  }
}

/** What an app declares is not what it was, once somebody else has changed it. */
export const stateAfterEdit = ({ app_id }: SkillEntity) => (app_id === null ? 'unmanaged' : 'drifted');

const mediaOf = ({ contentType }: SpooledRequest): string =>
  mediaTypeOf({ headers: { 'content-type': contentType } }) ?? '';

const missingWorkspace = (): Problem =>
  problem.invalidFields([{ pointer: '/workspace_id', detail: 'is required' }]);
