import { SqlMigration } from './sql-migration';

/** Metadata may contain any number, but `jsonb` rejects numbers with more than 16,383 digits after the decimal point. */
export class JsonNumbers1795459000200 extends SqlMigration {
  protected readonly sql = `
    -- Returns free-form JSON for a search. Numbers with exponents of four digits or more, which are zero as doubles, count as
    -- 0. Such a text inside a string changes too, but in the same way in the value and in the filter.
    CREATE FUNCTION searchable_json(json) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT CASE WHEN $1::text ~ '[eE][-+]?[0-9]{4}'
        THEN regexp_replace($1::text, '([:,[])-?[0-9]+([.][0-9]+)?[eE][-+]?[0-9]{4,}', '\\10', 'g')::jsonb
        ELSE $1::jsonb END
    $$;
    -- POST /eval/v1/datasets/search, POST /eval/v1/experiments/search: metadata
    DROP INDEX datasets_metadata;
    CREATE INDEX datasets_metadata ON datasets USING gin (searchable_json(metadata) jsonb_path_ops);
    DROP INDEX experiments_metadata;
    CREATE INDEX experiments_metadata ON experiments USING gin (searchable_json(metadata) jsonb_path_ops);
  `;
}
