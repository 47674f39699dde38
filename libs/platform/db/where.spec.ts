import { sql } from './sql';
import { Where } from './where';

const TENANT = { column: 'workspace_id', value: 'wsp_1' } as const;

describe('Where', () => {
  it('keeps each value with its condition anywhere in a statement', () => {
    const where = new Where(TENANT)
      .add(sql`name = ${'a'} AND size > ${2}`)
      .addIf(undefined, (v) => sql`never = ${v}`);
    const statement = sql`SELECT ${1} FROM agents WHERE ${where.sql} LIMIT ${3}`;

    expect(statement.text).toBe(
      'SELECT $1 FROM agents WHERE workspace_id = $2 AND name = $3 AND size > $4 LIMIT $5',
    );
    expect(statement.values).toEqual([1, 'wsp_1', 'a', 2, 3]);
  });

  it('includes the rows of all tenants only on request', () => {
    expect(Where.acrossTenants().sql.text).toBe('true');
  });
});
