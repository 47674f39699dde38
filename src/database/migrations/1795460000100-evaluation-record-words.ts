import { SqlMigration } from './sql-migration';

/**
 * Makes `search` NULL in a new record until a worker fills it, because computing and indexing the words of a long record
 * takes ten times as long as writing the record, and the writer would hold the lock of the dataset meanwhile.
 */
export class EvaluationRecordWords1795460000100 extends SqlMigration {
  protected readonly sql = `
    ALTER TABLE records ALTER COLUMN search DROP EXPRESSION;
    CREATE INDEX records_without_words ON records (dataset_id) INCLUDE (bytes) WHERE search IS NULL;

    -- A tsvector is limited to 1 MiB, so it contains metadata, which is small, and the first 40,000 characters of expected
    -- and of input. JSON escapes are removed, because otherwise the word after a line break would start with an n.
    CREATE FUNCTION record_words(metadata json, expected json, input json) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT search_words(regexp_replace(
        metadata::text || ' ' || left(coalesce(expected::text, ''), 40000) || ' ' || left(coalesce(input::text, ''), 40000),
        '\\\\(u[0-9a-f]{4}|.)', ' ', 'g'))
    $$;
  `;
}
