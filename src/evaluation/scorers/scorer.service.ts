import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { patchMetadata, Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { canonicalJson, type RawJson, toRawJson } from '#platform/json';
import type { Tx } from '#platform/db';
import { type ListQueryDto, type Page, toPage } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import {
  type AcquiredFrom,
  type InstalledArtifact,
  type OnConflict,
  type ResourceKind,
  ResourceKit,
  stamps,
  WorkspaceResourceService,
} from '../../resources';
import { faultsOfHuman, faultsOfJudge, type ScorerKind } from './definitions/definition.forms';
import { CodeEngine } from './engine/threads/code.engine';
import {
  type CreateScorerDto,
  PatchScorerDto,
  type ScorerDto,
  type ScorerListQueryDto,
  type ScorerVersionDto,
  toScorerDto,
  toScorerVersionDto,
} from './scorer.dto';
import type { ScorerEntity } from './scorer.entity';
import { ScorerRepository } from './scorer.repository';

/**
 * The members whose change creates a version, and which a release overwrites in an existing copy. The copy keeps its own
 * name, description, tags and metadata, because no version would keep them.
 */
const VERSIONED_FIELDS = ['grain', 'definition'] as const;

const SCORER: ResourceKind<ScorerEntity, ScorerDto> = {
  noun: 'scorer',
  type: 'scorer',
  id: 'scorer_id',
  generation: 'generation',
  immutable: ['scorer_id', 'scorer_kind'],
  auditedFields: ['name', 'grain', 'tags'],
  createdFields: ['name', 'acquired_from'],
  versions: { ordinal: 'scorer_version', fields: VERSIONED_FIELDS },
  unique: { constraint: 'scorers_name', field: 'name', inPaths: true },
  toView: toScorerDto,
};

/** A copy of a published scorer, after a release was installed. */
export interface InstalledScorer {
  row: ScorerEntity;
  change: InstalledArtifact['change'];
}

/**
 * Manages scorers. A change of how a scorer scores creates a version. A run uses the version it started with, even if the
 * scorer is archived.
 */
@Injectable()
export class ScorerService extends WorkspaceResourceService<ScorerEntity, ScorerDto> {
  constructor(
    kit: ResourceKit,
    private readonly scorers: ScorerRepository,
    private readonly engine: CodeEngine,
  ) {
    super(kit, scorers, SCORER);
  }

  /** Errors: 400 for a definition that does not fit the kind, 409 for a name that is taken, those of `patch`. */
  create(
    scope: Scope,
    dto: CreateScorerDto,
    signal: AbortSignal,
    onConflict?: OnConflict,
  ): Promise<Versioned<ScorerDto>> {
    const create = async () => {
      await this.checkDefinition(scope, dto.scorer_kind, dto.definition, signal);
      return this.createIn(scope, dto.workspace_id, () => newScorer(scope, dto, null));
    };
    return this.createOr(scope, onConflict, dto, create, PatchScorerDto, (id, patch) =>
      this.patch(scope, id, patch, signal),
    );
  }

  /**
   * Checks a definition. A slow check delays only its own organization. Errors: 400 with each fault and its JSON pointer.
   * Throws the signal's reason when it is aborted.
   */
  async checkDefinition(
    scope: Scope,
    kind: ScorerKind,
    definition: object,
    signal: AbortSignal,
  ): Promise<void> {
    const faults =
      kind === 'code'
        ? await this.engine.validate(definition, signal, scope)
        : (kind === 'human' ? faultsOfHuman : faultsOfJudge)(definition);
    if (faults.length === 0) return;
    throw problem.invalidFields(
      faults.map(({ pointer, detail }) => ({ pointer: `/definition${pointer}`, detail })),
    );
  }

  /**
   * Creates a copy of a published scorer, or updates the versioned members of an existing copy, in the caller's
   * transaction. Errors: those of `create`; 409 for a copy of another kind.
   *
   * @param copyId the existing copy
   */
  async install(
    tx: Tx,
    scope: Scope,
    dto: CreateScorerDto,
    from: AcquiredFrom,
    copyId: string | null,
  ): Promise<InstalledScorer> {
    const { signal } = new AbortController(); // the check has its own deadline
    const published = newScorer(scope, dto, from);
    const row = copyId === null ? null : await this.lock(tx, scope, copyId, 'update');
    if (row && row.scorer_kind !== dto.scorer_kind) {
      throw problem.conflict(
        `Your copy ${row.scorer_id} is of kind ${row.scorer_kind}, but the release is of kind ${dto.scorer_kind}. The kind of a scorer never changes. Archive your copy, then install the release again.`,
      );
    }
    if (!row) await this.checkNameFree(tx, scope, published);
    const definition = newDefinition(row, dto.definition);
    if (definition) await this.checkDefinition(scope, dto.scorer_kind, dto.definition, signal);
    if (!row) return { row: await this.insert(tx, scope, published), change: 'created' };
    const members = { grain: published.grain, definition, acquired_from: from };
    const next = await this.write(tx, scope, row, members, 'update');
    return { row: next, change: next.scorer_version === row.scorer_version ? 'unchanged' : 'updated' };
  }

  async list(scope: Scope, query: ScorerListQueryDto): Promise<Page<ScorerDto>> {
    return this.page(await this.scorers.list(scope, query));
  }

  /** Errors: 400 for a definition that does not fit the kind, and those of every PATCH. */
  async patch(
    scope: Scope,
    id: string,
    dto: PatchScorerDto,
    signal: AbortSignal,
    ifMatch?: string,
  ): Promise<Versioned<ScorerDto>> {
    if (dto.definition) {
      // The check may take long, so it runs before the row is locked. The kind of a scorer never changes.
      const row = await this.find(scope, id);
      const { scorer_kind = row.scorer_kind } = dto;
      // another kind is rejected below
      if (scorer_kind === row.scorer_kind && newDefinition(row, dto.definition))
        await this.checkDefinition(scope, row.scorer_kind, dto.definition, signal);
    }
    return this.change(scope, id, dto, ifMatch, (row) => ({
      name: dto.name,
      description: dto.description,
      grain: dto.grain,
      definition: dto.definition && newDefinition(row, dto.definition),
      tags: dto.tags === null ? [] : dto.tags,
      metadata: patchMetadata(row.metadata, dto.metadata),
    }));
  }

  async listVersions(scope: Scope, id: string, query: ListQueryDto): Promise<Page<ScorerVersionDto>> {
    await this.find(scope, id);
    return toPage(await this.scorers.listVersions(scope, id, query), toScorerVersionDto);
  }

  async getVersion(scope: Scope, id: string, version: number): Promise<Versioned<ScorerVersionDto>> {
    const row = orNotFound(await this.scorers.findVersion(scope, id, version), 'scorer version', version);
    return new Versioned(toScorerVersionDto(row), row.scorer_version);
  }
}

const newScorer = (scope: Scope, dto: CreateScorerDto, from: AcquiredFrom | null): ScorerEntity => ({
  ...stamps(scope),
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
  acquired_from: from,
  generation: 1,
});

/**
 * Returns a definition in its stored form, or undefined if the scorer already has the same as JSON. Another order of its
 * members or another spelling of its numbers does not change the scores.
 */
function newDefinition(row: ScorerEntity | null, definition: object): RawJson | undefined {
  const sent = toRawJson(definition);
  return row && isSameJson(row.definition, sent) ? undefined : sent;
}

const isSameJson = (one: RawJson, other: RawJson): boolean =>
  one.text === other.text || canonicalJson(one) === canonicalJson(other);
