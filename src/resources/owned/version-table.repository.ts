import type { OrgScope, TenantKey } from '#platform/auth';
import {
  indexOrdered,
  type Database,
  firstRow,
  raw,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
} from '#platform/db';
import { listPage, type ListQueryDto, type RowPage } from '#platform/paging';
import type { ArtifactReference } from '../packages/packager';

/** The largest number of a version that the database can look up. */
export const ORDINAL_MAX = 2 ** 31 - 1;

/** Storage of the versions of one kind of resource. */
export interface VersionTableSpec {
  /** The table of versions. */
  table: string;
  /** The table of resources. */
  resources: string;
  /** The column of the resource's id. */
  id: string;
  /** The column of the version's number. */
  ordinal: string;
  /** The columns that a version copies from its resource, `id`, `ordinal` and the tenant's column included. */
  columns: readonly string[];
  /** Further columns of a version. An area that has them inserts its versions itself. */
  ownColumns?: readonly string[];
}

/** A reference to a resource, or to one of its versions. */
export interface VersionReference {
  id: string;
  ordinal?: number | null;
}

/**
 * The table that stores each version of a resource. A version's `created_at` is the time of the change that created it, and
 * its `created_by` is the principal who made the change.
 */
export class VersionTable<Row> {
  private readonly copied: string;
  private readonly columns: string;

  constructor(
    private readonly database: Database,
    private readonly spec: VersionTableSpec,
  ) {
    this.copied = spec.columns.join(', ');
    this.columns = [...spec.columns, ...(spec.ownColumns ?? []), 'created_at', 'created_by'].join(', ');
  }

  /** Stores the current state of resources as their newest version. */
  async keep(
    tx: Tx,
    tenant: TenantKey,
    { principalId }: Pick<OrgScope, 'principalId'>,
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    const { table, resources, id } = this.spec;
    await tx.query(
      sql`INSERT INTO ${raw(table)} (${raw(this.columns)})
        SELECT ${raw(this.copied)}, updated_at, ${principalId} FROM ${raw(resources)}
        WHERE ${raw(id)} = ANY (${ids}::text[]) AND ${raw(tenant.column)} = ${tenant.value}`,
    );
  }

  /** Lists the versions of a resource by number, because ids created within a millisecond may be in any order. */
  list(tenant: TenantKey, id: string, query: ListQueryDto): Promise<RowPage<Row>> {
    return listPage<Row>(
      this.database,
      {
        columns: this.columns,
        from: this.spec.table,
        where: new Where(tenant).add(sql`${raw(this.spec.id)} = ${id}`),
        id: this.spec.ordinal,
        createdAt: 'created_at',
        idType: 'int8',
        bytes: 'bytes',
      },
      query,
    );
  }

  async find(
    tenant: TenantKey,
    id: string,
    ordinal: number,
    on: SqlExecutor = this.database,
  ): Promise<Row | null> {
    const { table, id: idColumn, ordinal: ordinalColumn } = this.spec;
    const statement = sql`SELECT ${raw(this.columns)} FROM ${raw(table)}
      WHERE ${raw(idColumn)} = ${id} AND ${raw(ordinalColumn)} = ${ordinal}
        AND ${raw(tenant.column)} = ${tenant.value}`;
    return firstRow<Row>(on, `${table}.find`, statement);
  }

  /** Deletes a version, and with it the rows of other tables whose foreign keys cascade. */
  async delete(tx: Tx, tenant: TenantKey, id: string, ordinal: number): Promise<void> {
    const { table, id: idColumn, ordinal: ordinalColumn } = this.spec;
    await tx.query(
      sql`DELETE FROM ${raw(table)} WHERE ${raw(idColumn)} = ${id} AND ${raw(ordinalColumn)} = ${ordinal}
        AND (${raw(tenant.column)} = ${tenant.value}) IS TRUE`,
    );
  }

  /** Returns the indexes of references whose resource or version does not exist, because it was deleted. */
  async missing(tenant: TenantKey, references: readonly VersionReference[]): Promise<Set<number>> {
    if (references.length === 0) return new Set();
    const { table, id, ordinal } = this.spec;
    const ids = references.map((reference) => reference.id);
    const ordinals = references.map((reference) => reference.ordinal ?? null);
    const isTenants = sql`(v.${raw(tenant.column)} = ${tenant.value}) IS TRUE`;
    // subqueries, because a join could read all versions
    const rows = await this.database.query<{ index: number }>(
      indexOrdered(sql`SELECT place - 1 AS index
        FROM unnest(${ids}::text[], ${ordinals}::int[]) WITH ORDINALITY AS refs(id, ordinal, place)
        WHERE CASE WHEN refs.ordinal IS NULL
          THEN (SELECT true FROM ${raw(table)} v WHERE v.${raw(id)} = refs.id AND ${isTenants} LIMIT 1)
          ELSE (SELECT true FROM ${raw(table)} v
            WHERE v.${raw(id)} = refs.id AND v.${raw(ordinal)} = refs.ordinal AND ${isTenants} LIMIT 1) END IS NULL`),
    );
    return new Set(rows.map(({ index }) => index));
  }

  /**
   * Finds the version that a reference names by its id, its number or both. Null if there is none, or if id and number belong
   * to different versions.
   *
   * @param newest the number of the version to use if the reference has neither id nor number
   */
  async findByReference(
    on: SqlExecutor,
    tenant: TenantKey,
    id: string,
    reference: Pick<ArtifactReference, 'version_id' | 'version_ordinal'>,
    newest: number,
  ): Promise<Row | null> {
    const { version_id = null, version_ordinal = null } = reference;
    if (version_ordinal !== null && version_ordinal > ORDINAL_MAX) return null;
    if (version_id === null) return this.find(tenant, id, version_ordinal ?? newest, on);
    const where = new Where(tenant)
      .add(sql`${raw(this.spec.id)} = ${id} AND version_id = ${version_id}`)
      .addIf(version_ordinal ?? undefined, (ordinal) => sql`${raw(this.spec.ordinal)} = ${ordinal}`);
    const [row] = await on.query<Row>(
      sql`SELECT ${raw(this.columns)} FROM ${raw(this.spec.table)} WHERE ${where.sql}`,
    );
    return row ?? null;
  }
}
