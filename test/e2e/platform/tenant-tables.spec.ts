import { sharedApp } from '#testing';
import { sql } from '#platform/db';
import { TenantTables } from '../../../src/resources/erasure/tenant-tables.repository';

/** Tables that hold nothing of a tenant, or that an erasure clears in another way. */
const OTHERS: Readonly<Record<string, string>> = {
  migrations: 'the applied migrations',
  backfills: 'the progress of migrations',
  installation: 'one row about the installation',
  secrets_keys: 'the keys in use',
  live_processes: 'the processes of the installation',
  signing_keys: 'the keys of the installation',
  org_signing_key_set: 'one row about all organizations',
  search_embedder: 'one row about all organizations',
  rate_limits: 'counters that are deleted within minutes',
  model_reservations: 'amounts that expire within a minute',
  job_outbox: 'jobs that a worker sends within seconds',
  judge_features: 'features of models, which expire after a day',
  results: 'cleared by the steps of evaluation',
  spans: 'cleared by the step `traces`',
  span_gaps: 'cleared by the step `traces`',
  model_limits: 'rate limits of models, which expire after a day',
  idempotency_claims: 'hashes of requests that are being processed',
  idempotency_keys: 'cleared by a step of its own',
  blobs: 'cleared by the step `stored objects`',
  blob_writes: 'cleared by the step `stored objects`',
  storage_usage: 'deleted with the organization',
  organizations: 'deleted last',
  workspaces: 'deleted last',
  erasures: 'the receipts',
  erasure_items: 'deleted when the erasure ends',
};

interface Table {
  name: string;
  /** Whether a row may belong to the organization without belonging to one of its workspaces. */
  may_be_outside: boolean;
  /** Tables whose rows take the rows of this table with them. */
  parents: string[];
}

describe('the erasure of an organization', () => {
  const app = sharedApp();

  it('reaches every table', async () => {
    const tables = await app.database.query<Table>(sql`
      SELECT c.relname::text AS name,
        NOT EXISTS (SELECT FROM pg_attribute a
          WHERE a.attrelid = c.oid AND a.attname = 'workspace_id' AND a.attnotnull) AS may_be_outside,
        ARRAY(SELECT k.confrelid::regclass::text FROM pg_constraint k
          WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confdeltype = 'c') AS parents
      FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`);
    const catalog = new TenantTables(app.database);
    const inWorkspaces = new Set((await catalog.tables('workspace_id')).map(({ name }) => name));
    const inOrganizations = new Set((await catalog.tables('org_id')).map(({ name }) => name));
    const byName = new Map(tables.map((table) => [table.name, table]));
    const isReached = ({ name, may_be_outside, parents }: Table): boolean =>
      inOrganizations.has(name) ||
      (inWorkspaces.has(name) && !may_be_outside) ||
      parents.some((parent) => isReached(byName.get(parent)!));
    const isOther = ({ name }: Table): boolean => name.replace(/^spans_\d{8}$/, 'spans') in OTHERS;
    const survivors = tables.filter((table) => !isOther(table) && !isReached(table));
    expect(survivors.map(({ name }) => name).sort()).toEqual([]);
    // a workspace is also erased by itself
    const ofWorkspaces = tables.filter(({ may_be_outside }) => !may_be_outside);
    const reached = (table: Table): boolean =>
      inWorkspaces.has(table.name) || table.parents.some((parent) => reached(byName.get(parent)!));
    const left = ofWorkspaces.filter((table) => !isOther(table) && !reached(table));
    expect(left.map(({ name }) => name).sort()).toEqual([]);
  });
});
