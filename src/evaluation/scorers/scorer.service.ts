import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import { checkIfMatch, checkValues, patchMetadata, checkImmutable, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toJsonText, toRawJson } from '#platform/json';
import type { ListQueryDto, Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { checkWorkspaceOfCreate, checkWorkspaceOfPatch } from '../shared/workspace-body';
import { AuditLog, changesTold, given } from '../../registry';
import { ScorerDefinitions } from './definitions/scorer-definitions';
import type {
  CreateScorerDto,
  PatchScorerDto,
  ScorerDto,
  ScorerListQueryDto,
  ScorerVersionDto,
} from './scorer.dto';
import type { ScorerEntity } from './scorer.entity';
import { toScorerDto, toScorerVersionDto } from './scorer.mapper';
import { ScorerRepository } from './scorer.repository';

@Injectable()
export class ScorerService {
  constructor(
    private readonly database: Database,
    private readonly scorers: ScorerRepository,
    private readonly definitions: ScorerDefinitions,
    private readonly audit: AuditLog,
  ) {}

  /** Errors: 400 for a definition that its kind does not have, 409 when the name is taken. */
  async create(scope: Scope, dto: CreateScorerDto): Promise<Versioned<ScorerDto>> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    await this.definitions.check(scope, dto.scorer_kind, dto.definition);
    const now = new Date();
    const row: ScorerEntity = {
      scorer_id: newId('scr'),
      workspace_id: scope.workspaceId,
      scorer_version: 1,
      version_id: newId('ver'),
      name: dto.name,
      description: dto.description ?? null,
      scorer_kind: dto.scorer_kind,
      grain: dto.grain ?? 'trace',
      definition: toRawJson(dto.definition),
      tags: dto.tags ?? [],
      metadata: toRawJson(dto.metadata ?? {}),
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
      archived_at: null,
    };
    await this.database.transaction(async (tx) => {
      await this.scorers.insert(row, tx);
      await this.scorers.keepVersion(tx, scope, row.scorer_id);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'create',
        changes: given({ name: row.name }),
      });
    });
    return versionedView(row);
  }

  async get(scope: Scope, id: string): Promise<Versioned<ScorerDto>> {
    return versionedView(await this.find(scope, id));
  }

  async list(scope: Scope, query: ScorerListQueryDto): Promise<Page<ScorerDto>> {
    const { rows, page } = await this.scorers.list(scope, query);
    return { items: rows.map(toScorerDto), page };
  }

  /**
   * A patch that changes something makes a version; one that changes nothing answers the present one. Errors: 404, 400
   * for a bad definition, 412 for a stale `If-Match`, 409 when archived or the name is taken, 422 for another kind.
   */
  async patch(
    scope: Scope,
    id: string,
    dto: PatchScorerDto,
    ifMatch?: string,
  ): Promise<Versioned<ScorerDto>> {
    // a kind never changes, so the definition can be checked, which takes its time, before anything is locked
    const { scorer_kind } = await this.find(scope, id);
    if (dto.definition !== undefined) await this.definitions.check(scope, scorer_kind, dto.definition);
    return this.database.transaction(async (tx) => {
      const row = await this.scorers.lock(tx, scope, id, 'update');
      if (!row) throw problem.notFound('scorer', id);
      const patched = patchedContent(row, dto);
      checkIfMatch(ifMatch, row.scorer_version);
      if (row.archived_at) throw problem.conflict('The scorer is archived and takes no changes.');
      checkWorkspaceOfPatch(scope, dto.workspace_id);
      checkValues(dto);
      checkImmutable(row, dto, ['scorer_id', 'scorer_kind']);
      if (sameContent(row, patched)) return versionedView(row);
      const changes = {
        ...patched,
        scorer_version: row.scorer_version + 1,
        version_id: newId('ver'),
        updated_at: new Date(),
      };
      await this.scorers.update(tx, scope, id, changes);
      await this.scorers.keepVersion(tx, scope, id);
      const told = changesTold(row, changes, ['name', 'grain', 'tags']);
      await this.audit.record(tx, scope, { ...audited(row), action: 'update', changes: told });
      return versionedView({ ...row, ...changes });
    });
  }

  /** Archives a scorer; repeated, it answers the same. Its name is free again; runs that are under way go on. */
  async archive(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<ScorerDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.scorers.lock(tx, scope, id, 'update');
      if (!row) throw problem.notFound('scorer', id);
      if (row.archived_at) return versionedView(row);
      checkIfMatch(ifMatch, row.scorer_version);
      const now = new Date();
      const changes = { archived_at: now, updated_at: now };
      await this.scorers.update(tx, scope, id, changes);
      await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      return versionedView({ ...row, ...changes });
    });
  }

  async listVersions(scope: Scope, id: string, query: ListQueryDto): Promise<Page<ScorerVersionDto>> {
    await this.find(scope, id);
    const { rows, page } = await this.scorers.listVersions(scope, id, query);
    return { items: rows.map(toScorerVersionDto), page };
  }

  async getVersion(scope: Scope, id: string, version: number): Promise<Versioned<ScorerVersionDto>> {
    const row = await this.scorers.findVersion(scope, id, version);
    if (!row) throw problem.notFound('scorer version', String(version));
    return { view: toScorerVersionDto(row), version: row.scorer_version };
  }

  /** A scorer by its id; 404 without one. */
  async find(scope: Scope, id: string): Promise<ScorerEntity> {
    const row = await this.scorers.find(scope, id);
    if (!row) throw problem.notFound('scorer', id);
    return row;
  }
}

/** The members that make a version. */
const CONTENT_MEMBERS = ['name', 'description', 'grain', 'definition', 'tags', 'metadata'] as const;
type ScorerContent = Pick<ScorerEntity, (typeof CONTENT_MEMBERS)[number]>;

const patchedContent = (row: ScorerEntity, dto: PatchScorerDto): ScorerContent => ({
  name: dto.name ?? row.name,
  description: dto.description === undefined ? row.description : dto.description,
  grain: dto.grain ?? row.grain,
  definition: dto.definition === undefined ? row.definition : toRawJson(dto.definition),
  tags: dto.tags === undefined ? row.tags : (dto.tags ?? []),
  metadata: dto.metadata === undefined ? row.metadata : patchMetadata(row.metadata, dto.metadata),
});

const sameContent = (row: ScorerContent, patched: ScorerContent): boolean =>
  CONTENT_MEMBERS.every((member) => toJsonText(row[member]) === toJsonText(patched[member]));

const audited = (row: ScorerEntity) => ({
  type: 'scorer' as const,
  id: row.scorer_id,
  workspaceId: row.workspace_id,
});

/** An archived scorer gets no further version, so the number after its last one names this state of it. */
const versionedView = (row: ScorerEntity): Versioned<ScorerDto> => ({
  view: toScorerDto(row),
  version: row.archived_at ? row.scorer_version + 1 : row.scorer_version,
});
