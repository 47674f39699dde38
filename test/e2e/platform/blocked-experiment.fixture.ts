import type { TestApp } from '#testing';

/** Blocks the creation of an experiment of this name in the database until `release`. */
export async function blockExperiment(app: TestApp, name: string): Promise<{ release: () => Promise<void> }> {
  const lock = Math.floor(Math.random() * 2 ** 31);
  await app.database.query(`
    CREATE OR REPLACE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.name = '${name}' THEN PERFORM pg_advisory_xact_lock(${lock}); END IF;
      RETURN NEW;
    END $$;
    CREATE OR REPLACE TRIGGER wait_for_test BEFORE INSERT ON experiments
      FOR EACH ROW EXECUTE FUNCTION wait_for_test()`);
  const runner = app.database.dataSource.createQueryRunner();
  await runner.query('SELECT pg_advisory_lock($1)', [lock]);
  return {
    release: async () => {
      await runner.query('SELECT pg_advisory_unlock($1)', [lock]);
      await runner.release();
    },
  };
}

/** Resolves when this many requests are blocked. */
export async function untilBlocked(app: TestApp, count = 1): Promise<void> {
  for (;;) {
    const waiting = await app.database.query(
      `SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database
        WHERE d.datname = current_database() AND locktype = 'advisory' AND NOT granted`,
    );
    if (waiting.length >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
