import { Injectable } from '@nestjs/common';
import { Database, raw, type Sql, sql } from '#platform/db';

/** Maximum number of dimensions of a pgvector index. Longer vectors are compared one by one. */
const INDEXED_MAX = 2_000;

/** Older versions return too few rows if most of the entries that they find belong to other tenants. */
const VERSION_MIN = '{0,8}';

const PREFIX = 'search_embeddings_near_';

/** Returns the name of the pgvector index of an embedder. */
export const indexNameOf = (identity: string): string => `${PREFIX}${identity}`;

/** Returns the indexed expression: `search_embeddings.parts` as a vector. */
export const vectorOf = (dimensions: number): Sql => raw(`(search_vector(parts)::vector(${dimensions}))`);

interface Extension {
  is_available: boolean;
  is_installed: boolean;
  is_recent: boolean;
}

/** Maintains the HNSW index of the embedder in use. Without pgvector, there is no index. */
@Injectable()
export class VectorIndexRepository {
  constructor(private readonly database: Database) {}

  /** Returns whether the database has a recent pgvector. Creates the extension if it is available and the role may create it. */
  async isUsable(): Promise<boolean> {
    let extension = await this.extension();
    if (extension.is_available && !extension.is_installed) {
      await this.database.query('CREATE EXTENSION IF NOT EXISTS vector').catch(() => []);
      extension = await this.extension();
    }
    return extension.is_installed && extension.is_recent;
  }

  /** Creates the index of an embedder if it is missing. Does not block writes. May take minutes. */
  async create(identity: string, dimensions: number): Promise<void> {
    if (dimensions > INDEXED_MAX) return;
    const name = indexNameOf(identity);
    const [index] = await this.database.query<{ is_valid: boolean; is_built: boolean }>(
      sql`SELECT indisvalid AS is_valid,
          EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = indexrelid) AS is_built
        FROM pg_catalog.pg_index WHERE indexrelid = to_regclass(${name})`,
    );
    if (index?.is_valid || index?.is_built) return;
    // A worker that stopped while it built the index has left an invalid index.
    if (index) await this.drop(name);
    await this.database.query(
      `CREATE OR REPLACE FUNCTION search_vector(parts cube[]) RETURNS vector
       LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
       RETURN ('[' || translate(array_to_string(parts, ','), '()', '') || ']')::vector`,
    );
    await this.database.runWithoutTimeout(
      `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON search_embeddings
       USING hnsw (${vectorOf(dimensions).sql} vector_cosine_ops)
       WHERE identity = '${identity}' AND parts IS NOT NULL`,
    );
  }

  /** Drops the indexes of other embedders. */
  async dropOthers(identity: string): Promise<void> {
    const rows = await this.database.query<{ name: string }>(
      sql`SELECT indexrelid::regclass::text AS name FROM pg_catalog.pg_index
        JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = 'search_embeddings'::regclass AND starts_with(relname, ${PREFIX})
          AND relname <> ${indexNameOf(identity)}`,
    );
    for (const { name } of rows) await this.drop(name);
  }

  private async drop(name: string): Promise<void> {
    await this.database.runWithoutTimeout(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  }

  private async extension(): Promise<Extension> {
    const [row] = await this.database.query<Extension>(
      sql`SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector') AS is_available,
          e.extname IS NOT NULL AS is_installed,
          coalesce(string_to_array(substring(e.extversion from '^[0-9]+(?:[.][0-9]+)*'), '.')::integer[]
            >= ${VERSION_MIN}::integer[], false) AS is_recent
        FROM (SELECT) one LEFT JOIN pg_extension e ON e.extname = 'vector'`,
    );
    return row!;
  }
}
