import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  Database,
  prepared,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
  WorkspaceScopedRepository,
} from '#platform/db';
import { BY_NAME, type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import { type ArtifactReference, findCopies, type InstalledCopy, VersionTable } from '../../resources';
import type { ScorerListQueryDto } from './scorer.dto';
import {
  type PinnedScorer,
  type PinnedScorerRow,
  ScorerEntity,
  type ScorerVersionRow,
  VERSION_FIELDS,
} from './scorer.entity';

const COPIES = { table: 'scorers', id: 'scorer_id' };

@Injectable()
export class ScorerRepository extends WorkspaceScopedRepository<ScorerEntity> {
  private readonly versions: VersionTable<ScorerVersionRow>;

  constructor(database: Database) {
    super(database, ScorerEntity, 'scorer_id', { bytes: 'bytes' });
    this.versions = new VersionTable(database, {
      table: 'scorer_versions',
      resources: 'scorers',
      id: 'scorer_id',
      ordinal: 'scorer_version',
      columns: [...VERSION_FIELDS],
    });
  }

  /** Returns the current version of each of these scorers that the workspace has. */
  async currentVersions(
    tx: Tx,
    { workspaceId }: Scope,
    ids: readonly string[],
  ): Promise<Map<string, number>> {
    const rows = await tx.query<Pick<ScorerEntity, 'scorer_id' | 'scorer_version'>>(
      sql`SELECT scorer_id, scorer_version FROM scorers WHERE workspace_id = ${workspaceId} AND scorer_id = ANY(${ids})`,
    );
    return new Map(rows.map((row) => [row.scorer_id, row.scorer_version]));
  }

  /** Returns the scorers among these ids that the workspace has, archived or not, in no particular order. */
  findMany({ workspaceId }: Scope, ids: readonly string[]): Promise<ScorerEntity[]> {
    return this.database.query<ScorerEntity>(
      sql`SELECT * FROM scorers WHERE workspace_id = ${workspaceId} AND scorer_id = ANY(${ids}::text[])`,
    );
  }

  /** Returns the scorers that have one of these names and are not archived, in no particular order. */
  findLiveNamed({ workspaceId }: Scope, names: readonly string[]): Promise<ScorerEntity[]> {
    return this.database.query<ScorerEntity>(
      sql`SELECT s.* FROM unnest(${names}::text[]) AS names(name) CROSS JOIN LATERAL (
          SELECT * FROM scorers WHERE name = names.name AND workspace_id = ${workspaceId} AND archived_at IS NULL OFFSET 0) s`,
    );
  }

  /** Returns versions of scorers in the order of `pins`, with the current names and descriptions of the scorers. */
  findPinned({ workspaceId }: Scope, pins: readonly PinnedScorer[]): Promise<PinnedScorerRow[]> {
    return this.database.query<PinnedScorerRow>(
      prepared(
        'scorer.find-pinned',
        sql`SELECT s.*, v.scorer_version, v.definition
          FROM unnest(${pins.map((pin) => pin.scorer_id)}::text[], ${pins.map((pin) => pin.scorer_version)}::integer[])
            WITH ORDINALITY AS pins(scorer_id, scorer_version, place)
          CROSS JOIN LATERAL (
            SELECT scorer_id, workspace_id, scorer_kind, name, description, archived_at FROM scorers
            WHERE scorer_id = pins.scorer_id AND workspace_id = ${workspaceId} OFFSET 0) s
          CROSS JOIN LATERAL (
            SELECT scorer_version, definition FROM scorer_versions
            WHERE scorer_id = pins.scorer_id AND scorer_version = pins.scorer_version
              AND workspace_id = ${workspaceId} OFFSET 0) v
          ORDER BY pins.place`,
      ),
    );
  }

  list(scope: Scope, query: ScorerListQueryDto): Promise<RowPage<ScorerEntity>> {
    const where = new Where(scope.key)
      .addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addIndexed(query.scorer_kind, (kind) => sql`scorer_kind = ${kind}`)
      .addIndexed(query.grain, (grain) => sql`grain = ${grain}`)
      .addIf(query.tag, (tag) => sql`tags @> ARRAY[${tag}::text]`)
      .addSearch(query.q);
    return listPage<ScorerEntity>(this.database, { ...this.listed, where, sorts: BY_NAME }, query);
  }

  /** Stores the current state of scorers as their newest versions. */
  keepVersions(tx: Tx, scope: Scope, ids: readonly string[]): Promise<void> {
    return this.versions.keep(tx, scope.key, scope, ids);
  }

  listVersions(scope: Scope, id: string, query: ListQueryDto): Promise<RowPage<ScorerVersionRow>> {
    return this.versions.list(scope.key, id, query);
  }

  findVersion(
    scope: Scope,
    id: string,
    version: number,
    on: SqlExecutor = this.database,
  ): Promise<ScorerVersionRow | null> {
    return this.versions.find(scope.key, id, version, on);
  }

  /**
   * Returns the version that a reference names by id, number or both. Without either, returns the newest version.
   *
   * @param newest the number of the newest version
   */
  findByReference(
    tx: Tx,
    scope: Scope,
    { artifact_id, ...version }: ArtifactReference,
    newest: number,
  ): Promise<ScorerVersionRow | null> {
    return this.versions.findByReference(tx, scope.key, artifact_id, version, newest);
  }

  /** Returns the live copies of published scorers, by the publisher's ids, locked for update. */
  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>> {
    return findCopies(tx, COPIES, scope, artifactIds);
  }
}
