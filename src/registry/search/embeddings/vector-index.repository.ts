import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';
import { vectorOf } from '../vector-search.repository';
import { indexOf, type SearchBackend } from './search-backend.repository';

/** Dimensions that an index of pgvector can have; vectors of more are compared one by one. */
const INDEXED_MAX = 2_000;

/** In older versions an index gives up where few of what it finds belong to the caller. */
const VERSION_MIN = '{0,8}';

interface Extension {
  is_available: boolean;
  is_installed: boolean;
  is_recent: boolean;
}

/** The indexes of pgvector, of one backend each. Where the extension is not there, there are none. */
@Injectable()
export class VectorIndexRepository {
  constructor(private readonly database: Database) {}

  /** Whether the database has pgvector, in a version that serves; it is created where the server has it and the role may. */
  async isUsable(): Promise<boolean> {
    let extension = await this.extension();
    if (extension.is_available && !extension.is_installed) {
      await this.database.query('CREATE EXTENSION IF NOT EXISTS vector').catch(() => []);
      extension = await this.extension();
    }
    return extension.is_installed && extension.is_recent;
  }

  /** Makes the index of a backend where it has none, while documents go on being written. May take minutes. */
  async create(backend: SearchBackend): Promise<void> {
    if (backend.is_indexed || backend.dimensions > INDEXED_MAX) return;
    const name = indexOf(backend.backend_id);
    const [state] = await this.database.query<{ is_made: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM pg_stat_progress_create_index p WHERE p.index_relid = to_regclass($1)) AS is_made
       WHERE to_regclass($1) IS NOT NULL`,
      [name],
    );
    if (state?.is_made) return;
    // what a worker left behind that ended while it made it
    if (state) await this.drop(backend);
    await this.database.query(
      `CREATE OR REPLACE FUNCTION search_vector(parts cube[]) RETURNS vector
       LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
       RETURN ('[' || translate(array_to_string(parts, ','), '()', '') || ']')::vector`,
    );
    await this.database.unhurried(
      `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON search_embeddings
       USING hnsw (${vectorOf(backend.dimensions)} vector_cosine_ops)
       WHERE backend_id = ${backend.backend_id} AND parts IS NOT NULL`,
    );
  }

  /** Takes the index of a backend away. */
  async drop(backend: SearchBackend): Promise<void> {
    await this.database.unhurried(`DROP INDEX CONCURRENTLY IF EXISTS ${indexOf(backend.backend_id)}`);
  }

  private async extension(): Promise<Extension> {
    const [row] = await this.database.query<Extension>(
      `SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector') AS is_available,
         e.extname IS NOT NULL AS is_installed,
         coalesce(string_to_array(substring(e.extversion from '^[0-9]+(?:[.][0-9]+)*'), '.')::integer[] >= '${VERSION_MIN}',
           false) AS is_recent
       FROM (SELECT) one LEFT JOIN pg_extension e ON e.extname = 'vector'`,
    );
    return row!;
  }
}
