import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { FairLimiter, SingleFlight } from '#platform/concurrency';
import type { Tx } from '#platform/db';
import { patchMetadata, type Reply, streamed, Versioned } from '#platform/http';
import { canonicalJson } from '#platform/json';
import { Problem, problem } from '#platform/problem';
import {
  changedColumns,
  type CopySource,
  type InstalledArtifact,
  installedArtifact,
  LabelledService,
  narrowScope,
  type OnConflict,
  OWNED_READERS,
  type PatchBody,
  type ResourceKind,
  ResourceKit,
  type VersionName,
  withUniqueName,
} from '../../resources';
import { type ArchiveDigest, SkillContents } from '../content/skill-contents';
import { contentWith, type SkillContent } from '../format/skill-content';
import { SKILL_MD, type SkillFile } from '../format/skill-files';
import { FRONTMATTER_BYTES, SkillMd } from '../format/skill-md';
import type { SkillMembers } from '../format/skill-members';
import { SkillFault } from '../format/skill.fault';
import { contentOfSpec } from '../upload/skill-spec';
import type { SkillSpecDto } from '../upload/skill-spec.dto';
import { type SkillUpload, ZIP_MEDIA } from '../upload/skill-upload';
import { INDEX_SCHEMA, type SkillIndexDto, type SkillIndexEntryDto } from './skill-index.dto';
import {
  type SkillVersionDetailDto,
  type SkillVersionDto,
  toSkillVersionDetailDto,
  toSkillVersionDto,
} from './skill-version.dto';
import { newSkill, nextVersion, SkillWriter } from './skill-writer';
import { PatchSkillDto, type SkillDto, toSkillDto } from './skill.dto';
import type { SkillEntity, SkillVersionRow } from './skill.entity';
import { type IndexedSkill, SkillRepository } from './skill.repository';

/** Maximum number of skills in a discovery index, which has no pages. */
const INDEX_MAX = 1_000;

/** Maximum number of digests of archives that wait to be computed. */
const DIGESTS_WAITING_MAX = 100;

/** Describes skills to the resource kit. `SkillWriter` writes versions, audit entries and search documents, many at once. */
export const SKILL: ResourceKind<SkillEntity, SkillDto> = {
  noun: 'skill',
  type: 'skill',
  readers: OWNED_READERS,
  id: 'skill_id',
  generation: 'generation',
  immutable: ['skill_id', 'name'],
  unique: { constraint: 'skills_name', field: 'name', inPaths: true },
  toView: toSkillDto,
};

/** A part of a file of a skill. */
export interface SkillFilePart {
  version_ordinal: number;
  file: SkillFile;
  bytes: Buffer;
}

/** Skills and their versions. Each change of a skill creates a version. */
@Injectable()
export class SkillService extends LabelledService<SkillEntity, SkillDto, SkillVersionRow, SkillVersionDto> {
  private readonly rootArchives = new SingleFlight<ArchiveDigest>();
  private readonly digests = new FairLimiter({ share: 1, maxWaiting: DIGESTS_WAITING_MAX });

  constructor(
    kit: ResourceKit,
    private readonly skills: SkillRepository,
    private readonly contents: SkillContents,
    private readonly writer: SkillWriter,
  ) {
    super(kit, skills, SKILL, toSkillVersionDto);
  }

  /**
   * Creates a skill with its first version. With `on_conflict=update`, JSON without `files` patches the existing skill, JSON with
   * `files` also replaces its files, and a directory replaces the whole skill. Errors: 400 for an invalid upload and an unknown workspace, 403, 409 when the
   * workspace is archived or has a skill with this name; those of every change.
   *
   * @param checkClient throws when the client has disconnected
   */
  create(
    scope: OrgScope,
    workspaceId: string,
    upload: SkillUpload,
    checkClient: () => void,
    onConflict?: OnConflict,
  ): Promise<Versioned<SkillDto>> {
    const { name = '', spec } = upload;
    const content = upload.contentFor(name);
    const create = () =>
      this.transaction(scope, async (tx) => {
        await this.kit.access.enter(tx, scope, workspaceId, ['editor']);
        checkClient();
        const row = newSkill(scope, workspaceId, content);
        await withUniqueName(SKILL, row, () =>
          this.writer.write(tx, scope, [{ before: null, row, files: content.files }]),
        );
        return this.versioned(row);
      });
    const isPatch = spec !== undefined && (spec.files ?? null) === null;
    const body = { ...(isPatch && { ...spec, files: undefined }), workspace_id: workspaceId, name };
    return this.createOr(scope, onConflict, body, create, PatchSkillDto, (id, patch) =>
      isPatch
        ? this.patch(scope, id, patch)
        : this.transaction(scope, async (tx) => {
            const contentOf = (before: SkillEntity) =>
              spec ? contentOfSpec(name, { ...keptMembers(before), ...sentMembers(spec) }) : content;
            const { row } = await this.replaceFiles(tx, scope, id, contentOf, patch, undefined, checkClient);
            return this.versioned(row);
          }),
    );
  }

  /**
   * Adds a version, or returns the newest one if it has the same files. Errors: 400 for an invalid upload; those of every
   * change, with `If-Match` on the skill's ETag.
   *
   * @param checkClient throws when the client has disconnected
   */
  async addVersion(
    scope: OrgScope,
    id: string,
    upload: SkillUpload,
    ifMatch: string | undefined,
    checkClient: () => void,
  ): Promise<{ view: SkillVersionDetailDto; isNew: boolean }> {
    const { name } = await this.find(scope, id);
    const content = upload.contentFor(name);
    const fields = {
      ...(upload.workspaceId !== undefined && { workspace_id: upload.workspaceId }),
      name: upload.name,
    };
    return this.transaction(scope, async (tx) => {
      const { row, isNew } = await this.replaceFiles(
        tx,
        scope,
        id,
        () => content,
        fields,
        ifMatch,
        checkClient,
      );
      const version = await this.skills.versions.find(scope.orgKey, id, row.version_ordinal, tx);
      return { view: toSkillVersionDetailDto(version!, content.files), isNew };
    });
  }

  /**
   * Creates a copy of a published skill, or updates an existing copy to the content of a package. The caller runs the
   * transaction and locks the workspace against archiving. Errors: 403, 404, 409 naming the skill that has the name.
   */
  async install(
    tx: Tx,
    scope: Scope,
    { copy, from: acquired_from, is_dependency }: CopySource,
    content: SkillContent,
  ): Promise<InstalledArtifact> {
    if (!copy) {
      const row = { ...newSkill(scope, scope.workspaceId, content), acquired_from };
      await this.checkNameFree(tx, scope, row);
      return this.writeCopy(tx, scope, null, row, content);
    }
    const before = await this.lock(tx, scope, copy.artifact_id, 'update');
    if (content.source_digest === before.source_digest) {
      const changed = changedColumns<SkillEntity>(before, { acquired_from });
      if (!changed) return this.installed(before, before);
      const bumped = { generation: before.generation + 1, updated_at: new Date() };
      return this.writeCopy(tx, scope, before, { ...before, ...changed, ...bumped }, content);
    }
    // Agents may pin different versions of a shared skill. An earlier version is reused, not stored again as a new one.
    const earlier = is_dependency
      ? await this.skills.findByDigest(tx, scope, before.skill_id, content.source_digest)
      : null;
    if (earlier) return installedArtifact('skill', before.skill_id, earlier, earlier);
    return this.writeCopy(tx, scope, before, { ...nextVersion(before, content), acquired_from }, content);
  }

  /** Changes members of SKILL.md and keeps the other files. Errors: 400 for an invalid SKILL.md; those of every change. */
  patch(scope: OrgScope, id: string, dto: PatchSkillDto, ifMatch?: string): Promise<Versioned<SkillDto>> {
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      const files = await this.skills.files(scope, id, row.version_ordinal, tx);
      const file = files.find(({ path }) => path === SKILL_MD)!;
      const skillMd = editedSkillMd(await this.contents.content(tx, scope, file), row, dto);
      await this.checkChange(tx, scope, row, dto, ifMatch);
      if (!skillMd) return this.versioned(row);
      return this.versioned(await this.writeVersion(tx, scope, row, contentWith(skillMd, files)));
    });
  }

  override async getVersion(
    scope: OrgScope,
    id: string,
    version: VersionName,
  ): Promise<Versioned<SkillVersionDetailDto>> {
    const row = await this.findVersion(scope, id, version);
    const { version_ordinal: ordinal } = row;
    return new Versioned(toSkillVersionDetailDto(row, await this.skills.files(scope, id, ordinal)), ordinal);
  }

  /** Streams the files of a version as a zip archive. The bytes are the same each time. */
  async getContent(scope: OrgScope, id: string, version: VersionName): Promise<Reply> {
    const row = await this.findVersion(scope, id, version);
    const { version_ordinal: ordinal } = row;
    const files = await this.skills.files(scope, id, ordinal);
    return streamed(this.contents.archive(scope, row.name, files), {
      type: ZIP_MEDIA,
      length: row.archive_bytes,
      filename: `${row.name}-v${ordinal}.zip`,
      sha256: row.archive_sha256,
    });
  }

  /** Streams the zip archive of a version with `SKILL.md` at its root. */
  async getZip(scope: OrgScope, id: string, version: VersionName, signal: AbortSignal): Promise<Reply> {
    const row = await this.findVersion(scope, id, version);
    const { version_ordinal: ordinal, root_archive_sha256: sha256, root_archive_bytes: bytes } = row;
    const files = await this.skills.files(scope, id, ordinal);
    const archive =
      sha256 === null || bytes === null
        ? await this.rootArchive(scope, id, ordinal, signal)
        : { sha256, bytes };
    return streamed(this.contents.archive(scope, '', files), {
      type: ZIP_MEDIA,
      length: archive.bytes,
      filename: `${row.name}-v${ordinal}.zip`,
      sha256: archive.sha256,
    });
  }

  /** Streams the `SKILL.md` of a version. */
  async getSkillMd(scope: OrgScope, id: string, version: VersionName): Promise<Reply> {
    const { version_ordinal: ordinal } = await this.findVersion(scope, id, version);
    const files = await this.skills.files(scope, id, ordinal);
    const file = files.find(({ path }) => path === SKILL_MD)!;
    return streamed(this.contents.reader(this.kit.database, scope, [file])(file), {
      type: 'text/markdown; charset=utf-8',
      length: file.size_bytes,
      filename: SKILL_MD,
      sha256: file.sha256,
    });
  }

  /**
   * Returns the discovery index of the skills that the caller may read, in one workspace if given. Errors: 400 for more than
   * 1,000 skills.
   */
  async index(scope: OrgScope, workspaceId: string | undefined, signal: AbortSignal): Promise<SkillIndexDto> {
    const skills = await this.skills.listNewest(scope, workspaceId, INDEX_MAX + 1);
    if (skills.length > INDEX_MAX) {
      throw problem.invalidQuery(
        'workspace_id',
        `must select at most ${INDEX_MAX} skills, because an index has no pages`,
      );
    }
    const entries: SkillIndexEntryDto[] = [];
    for (const skill of skills) entries.push(await this.indexEntry(scope, skill, signal));
    return { $schema: INDEX_SCHEMA, skills: entries };
  }

  private async indexEntry(
    scope: OrgScope,
    skill: IndexedSkill,
    signal: AbortSignal,
  ): Promise<SkillIndexEntryDto> {
    const { skill_id: id, name, description, version_ordinal: ordinal, skill_md_sha256: only } = skill;
    const version = `skills/${id}/versions/${ordinal}`;
    if (only !== null) {
      return { name, type: 'skill-md', description, url: `${version}/SKILL.md`, digest: `sha256:${only}` };
    }
    const sha256 = skill.root_archive_sha256 ?? (await this.rootArchive(scope, id, ordinal, signal)).sha256;
    return { name, type: 'archive', description, url: `${version}/skill.zip`, digest: `sha256:${sha256}` };
  }

  /**
   * Computes the digest of the archive that has `SKILL.md` at its root, and keeps it, because a version never changes. Concurrent
   * requests compute it once, and an organization computes one at a time. Errors: 503 if too many wait.
   */
  private rootArchive(
    scope: OrgScope,
    id: string,
    ordinal: number,
    signal: AbortSignal,
  ): Promise<ArchiveDigest> {
    return this.rootArchives.run(`${id}/${ordinal}`, signal, (flight) =>
      this.digests.run(narrowScope(scope, ''), flight, async () => {
        const files = await this.skills.files(scope, id, ordinal);
        const archive = await this.contents.archiveDigest(this.kit.database, scope, '', files);
        await this.skills.keepRootArchive(scope, { skill_id: id, ...archive }, ordinal);
        return archive;
      }),
    );
  }

  /** Returns the files of skills that the caller has already read, by skill id. */
  async filesOf(scope: OrgScope, skills: readonly SkillDto[]): Promise<ReadonlyMap<string, SkillFile[]>> {
    const files = skills.length === 0 ? [] : await this.skills.filesOf(scope, skills);
    const bySkill = new Map<string, SkillFile[]>(skills.map(({ skill_id }) => [skill_id, []]));
    for (const file of files) bySkill.get(file.skill_id)!.push(file);
    return bySkill;
  }

  /**
   * Returns the frontmatter of skills that the caller has already read, by skill id. Omits skills whose frontmatter JSON
   * cannot represent.
   */
  async frontmatters(
    scope: OrgScope,
    skills: readonly SkillDto[],
  ): Promise<ReadonlyMap<string, Record<string, unknown>>> {
    if (skills.length === 0) return new Map();
    const files = await this.skills.filesOf(scope, skills, SKILL_MD);
    const prefixes = await this.contents.prefixes(scope, files, FRONTMATTER_BYTES);
    const frontmatters = files.map(({ skill_id, sha256 }) => {
      const frontmatter = SkillMd.frontmatterOf(prefixes.get(sha256)!);
      return frontmatter === null ? [] : [[skill_id, frontmatter] as const];
    });
    return new Map(frontmatters.flat());
  }

  /**
   * Reads a part of a file. Errors: 404.
   *
   * @param length the maximum number of bytes to read into memory
   */
  async readFile(
    scope: OrgScope,
    id: string,
    version: VersionName,
    path: string,
    offset: number,
    length: number,
  ): Promise<SkillFilePart> {
    const { version_ordinal } = await this.findVersion(scope, id, version);
    const files = await this.skills.files(scope, id, version_ordinal);
    const file = files.find((one) => one.path === path);
    if (!file)
      throw new Problem('not_found', 'The skill has no file with this path. Paths are case-sensitive.');
    return { version_ordinal, file, bytes: await this.contents.part(scope, file, offset, length) };
  }

  protected override async onDelete(tx: Tx, scope: OrgScope, { skill_id }: SkillEntity): Promise<void> {
    this.contents.release(tx, scope, await this.skills.contentsOf(tx, scope, skill_id, null));
    await this.kit.index.remove(tx, scope, 'skill', [skill_id]);
  }

  protected override async onDeleteVersion(
    tx: Tx,
    scope: OrgScope,
    { skill_id, version_ordinal }: SkillVersionRow,
  ): Promise<void> {
    this.contents.release(tx, scope, await this.skills.contentsOf(tx, scope, skill_id, version_ordinal));
  }

  protected override async reindex(tx: Tx, scope: OrgScope, row: SkillEntity): Promise<void> {
    if (row.archived_at) await this.kit.index.remove(tx, scope, 'skill', [row.skill_id]);
    else await this.writer.reindex(tx, scope, row);
  }

  private async writeCopy(
    tx: Tx,
    scope: Scope,
    before: SkillEntity | null,
    row: SkillEntity,
    { files }: SkillContent,
  ): Promise<InstalledArtifact> {
    await withUniqueName(SKILL, row, () => this.writer.write(tx, scope, [{ before, row, files }]));
    return this.installed(before, row);
  }

  /** Creates a version with these files, unless the newest one has them. @param named the members that a PATCH could have */
  private async replaceFiles(
    tx: Tx,
    scope: OrgScope,
    id: string,
    contentOf: (before: SkillEntity) => SkillContent,
    named: PatchBody<SkillEntity>,
    ifMatch: string | undefined,
    checkClient: () => void,
  ): Promise<{ row: SkillEntity; isNew: boolean }> {
    const before = await this.lock(tx, scope, id, 'update');
    await this.checkChange(tx, scope, before, named, ifMatch);
    checkClient();
    const content = contentOf(before);
    const isNew = content.source_digest !== before.source_digest;
    return { row: isNew ? await this.writeVersion(tx, scope, before, content) : before, isNew };
  }

  private async writeVersion(
    tx: Tx,
    scope: OrgScope,
    before: SkillEntity,
    content: SkillContent,
  ): Promise<SkillEntity> {
    const row = nextVersion(before, content);
    await this.writer.write(tx, scope, [{ before, row, files: content.files }]);
    return row;
  }
}

/** Returns the members that an upload as JSON keeps if it omits them. */
const keptMembers = ({ license, compatibility, allowed_tools, metadata }: SkillEntity) => ({
  license,
  compatibility,
  allowed_tools: (allowed_tools?.parse() ?? null) as string[] | null,
  metadata: metadata.parse() as object,
});

const sentMembers = (spec: SkillSpecDto): SkillSpecDto =>
  Object.fromEntries(
    Object.entries(spec).filter(([, value]) => value !== undefined),
  ) as unknown as SkillSpecDto;

/** Returns the SKILL.md after a patch, or null if the patch changes nothing. Errors: 400. */
function editedSkillMd(bytes: Buffer, row: SkillEntity, dto: PatchSkillDto): SkillMd | null {
  try {
    const skillMd = SkillMd.read(bytes);
    const members = patchedMembers(skillMd.members, row, dto);
    return canonicalJson(members) === canonicalJson(skillMd.members) ? null : skillMd.edit(members);
  } catch (error) {
    if (!(error instanceof SkillFault)) throw error;
    const { member, detail } = error;
    throw problem.invalidField(member === null ? '' : `/${member}`, detail);
  }
}

const patchedMembers = (members: SkillMembers, row: SkillEntity, dto: PatchSkillDto): SkillMembers => ({
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
