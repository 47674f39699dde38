import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkIfMatch, checkImmutable, patchMetadata, type Versioned } from '#platform/http';
import { canonicalJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { checkLive, checkNotMoved, readable, WorkspaceAccess } from '../registry';
import { SkillContents } from './content/skill-contents';
import { SKILL_MD } from './format/skill-files';
import { SkillFault } from './format/skill.fault';
import { SkillMd } from './format/skill-md';
import type { SkillMembers } from './format/skill-members';
import { contentWith } from './skill-content';
import type { PatchSkillDto, SkillDto, SkillListQueryDto } from './skill.dto';
import type { SkillEntity } from './skill.entity';
import { toSkillDto } from './skill.mapper';
import { SkillRepository } from './skill.repository';
import { stateAfterEdit } from './skill-upload.service';
import { SkillVersionRepository } from './skill-version.repository';
import { SkillWriter, withVersion } from './skill-writer';

const KIND = 'skill';

/** Skills: directories with a SKILL.md. */
@Injectable()
export class SkillService {
  constructor(
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly skills: SkillRepository,
    private readonly versions: SkillVersionRepository,
    private readonly contents: SkillContents,
    private readonly writer: SkillWriter,
  ) {}

  async list(scope: OrgScope, query: SkillListQueryDto): Promise<Page<SkillDto>> {
    const { rows, page } = await this.skills.list(scope, query);
    return { items: rows.map(toSkillDto), page };
  }

  async get(scope: OrgScope, id: string): Promise<Versioned<SkillDto>> {
    return versionedView(await this.find(scope, id));
  }

  /** 404 where it is not there, or not to be seen. */
  async find(scope: OrgScope, id: string): Promise<SkillEntity> {
    return readable(scope, await this.skills.find(scope, id), KIND, id);
  }

  /**
   * A patch that changes something makes a version: SKILL.md with other members, and the other files as they are.
   * Errors: 404, 403, 412 for a stale `If-Match`, 409 when it or its workspace is archived, 422 for another name or
   * workspace, 400 for what SKILL.md has no room for.
   */
  patch(scope: OrgScope, id: string, dto: PatchSkillDto, ifMatch?: string): Promise<Versioned<SkillDto>> {
    return this.database.transaction(async (tx) => {
      const before = await this.lock(tx, scope, id, 'editor');
      checkIfMatch(ifMatch, before.generation);
      checkLive(before, KIND);
      checkNotMoved(before, dto.workspace_id);
      checkImmutable(before, dto, ['skill_id', 'name']);
      const files = await this.versions.files(scope, id, before.version_ordinal, tx);
      const skillMd = await this.contents.content(
        tx,
        scope,
        files.find(({ path }) => path === SKILL_MD)!,
      );
      const edited = editedWith(skillMd, before, dto);
      if (!edited) return versionedView(before);
      const content = contentWith(edited, files);
      const row = withVersion(before, content, stateAfterEdit(before));
      await this.writer.write(tx, scope, [{ before, row, files: content.files }]);
      return versionedView(row);
    });
  }

  /** Archives a skill; repeated, it answers the same. Its name is free again, and its versions stay readable. */
  archive(scope: OrgScope, id: string, ifMatch?: string): Promise<Versioned<SkillDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, 'admin');
      if (!row.archived_at) checkIfMatch(ifMatch, row.generation);
      const [archived = row] = row.archived_at ? [] : await this.writer.archive(tx, scope, [row]);
      return versionedView(archived);
    });
  }

  private async lock(tx: Tx, scope: OrgScope, id: string, role: 'editor' | 'admin'): Promise<SkillEntity> {
    const row = await this.skills.lock(tx, scope, id, 'update');
    return this.access.admit(tx, scope, row, KIND, id, [role]);
  }
}

/** SKILL.md with what a patch changes; null where that is nothing. 400 also where it was kept under other rules. */
function editedWith(bytes: Buffer, row: SkillEntity, dto: PatchSkillDto): SkillMd | null {
  try {
    const skillMd = SkillMd.read(bytes);
    const { members } = skillMd;
    const changed = changedMembers(members, row, dto);
    return canonicalJson(changed) === canonicalJson(members) ? null : skillMd.edited(changed);
  } catch (error) {
    if (!(error instanceof SkillFault)) throw error;
    const { member, detail } = error;
    throw problem.invalidFields([{ pointer: member === null ? '' : `/${member}`, detail }]);
  }
}

const changedMembers = (members: SkillMembers, row: SkillEntity, dto: PatchSkillDto): SkillMembers => ({
  name: members.name,
  description: dto.description ?? members.description,
  instructions: dto.instructions ?? members.instructions,
  license: dto.license === undefined ? members.license : dto.license,
  compatibility: dto.compatibility === undefined ? members.compatibility : dto.compatibility,
  allowed_tools: dto.allowed_tools === undefined ? members.allowed_tools : dto.allowed_tools,
  metadata:
    dto.metadata === undefined
      ? members.metadata
      : (patchMetadata(row.metadata, dto.metadata).parse() as object),
});

const versionedView = (row: SkillEntity): Versioned<SkillDto> => ({
  view: toSkillDto(row),
  version: row.generation,
});
