import { KeyReads } from './key-reads';

interface Row {
  id: string;
  tenant: string;
}

describe('KeyReads', () => {
  const statements: [string, readonly string[]][] = [];
  const reads = new KeyReads<Row>((tenant, ids) => {
    statements.push([tenant, ids]);
    if (tenant === 'broken') return Promise.reject(new Error('the database is down'));
    const found = ids.filter((id) => id !== 'missing');
    return Promise.resolve(new Map(found.map((id) => [id, { id, tenant }])));
  });

  beforeEach(() => (statements.length = 0));

  it('reads the rows of one tenant by one statement, and gives each caller its own', async () => {
    const rows = await Promise.all(['a', 'b', 'missing', 'a'].map((id) => reads.find('t1', id)));
    expect(rows).toEqual([
      { id: 'a', tenant: 't1' },
      { id: 'b', tenant: 't1' },
      null,
      { id: 'a', tenant: 't1' },
    ]);
    expect(rows[0]).not.toBe(rows[3]);
    expect(statements).toEqual([['t1', ['a', 'b', 'missing']]]);
  });

  it('never mixes tenants', async () => {
    const rows = await Promise.all([reads.find('t1', 'a'), reads.find('t2', 'a')]);
    expect(rows).toEqual([
      { id: 'a', tenant: 't1' },
      { id: 'a', tenant: 't2' },
    ]);
    expect(statements).toEqual([['t1', ['a']], ['t2', ['a']]]); // prettier-ignore
  });

  it('reads again what is asked for after a read has begun', async () => {
    await reads.find('t1', 'a');
    await reads.find('t1', 'a');
    expect(statements).toHaveLength(2);
  });

  it('fails for its own callers only', async () => {
    const [broken, other] = await Promise.allSettled([reads.find('broken', 'a'), reads.find('t1', 'a')]);
    expect(broken.status).toBe('rejected');
    expect(other).toEqual({ status: 'fulfilled', value: { id: 'a', tenant: 't1' } });
  });
});
