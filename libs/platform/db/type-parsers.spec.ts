import { types } from 'pg';
import { parserOf } from './type-parsers';

describe.each([
  [
    'timestamptz',
    1184,
    [
      '2026-11-29 05:39:03.123456+00',
      '2026-11-29 05:39:03.999999+00',
      '2026-11-29 05:39:03.12+00',
      '2026-11-29 05:39:03+00',
      '1969-12-31 23:59:59.999999+00',
      '0001-01-01 00:00:00+00',
      '9999-12-31 23:59:59.999999+00',
      '0044-03-15 00:00:00+00 BC',
      '20000-01-01 00:00:00+00',
      '2026-11-29 05:39:03.5+05:30',
      'infinity',
      '-infinity',
    ],
  ],
  [
    'text[]',
    1009,
    ['{}', '{alpha}', '{alpha,beta}', '{a,NULL,b}', '{"NULL"}', '{"a,b",c}', '{"{x}"}', '{""}', '{{a},{b}}'],
  ],
])('the parser of %s', (_, oid, texts) => {
  it.each(texts)('reads %s like the driver, with the same JSON', (text) => {
    const value = parserOf(oid)(text);
    const standard = types.getTypeParser(oid)(text) as unknown;
    expect(value).toEqual(standard);
    expect(JSON.stringify(value)).toBe(JSON.stringify(standard));
  });
});
