import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The words of a text, for `q`. Punctuation separates them, so that a file's name, a path or an address is found by its
 * parts, which PostgreSQL's parser would keep together. Only that of ASCII: classes of characters depend on the locale.
 */
export class PlatformTextSearch1795132800180 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION search_words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
        SELECT pg_catalog.to_tsvector('pg_catalog.simple'::pg_catalog.regconfig,
          pg_catalog.translate($1, $p$!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~$p$, pg_catalog.repeat(' ', 32)))
      $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION search_words(text)');
  }
}
