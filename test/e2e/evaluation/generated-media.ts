import fc from 'fast-check';
import { ANYTHING, type GeneratedValues, type Schema } from './generated-values';

/** Maximum length of an option in characters, because Node rejects request heads above 16 KiB before routing. */
const OPTION_MAX = 500;

/** Generates options as texts, for the query or as fields of a form. */
export const optionsOf = (
  options: Record<string, Schema>,
  values: GeneratedValues,
): fc.Arbitrary<[string, string][]> =>
  fc
    .record(Object.fromEntries(Object.entries(options).map(([name, one]) => [name, values.of(one, name)])), {
      requiredKeys: Object.keys(options).filter((name) => name === 'workspace_id'),
    })
    .map((chosen) =>
      Object.entries(chosen).flatMap(([name, value]): [string, string][] => {
        const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
        return value == null || text.length > OPTION_MAX ? [] : [[name, text]];
      }),
    );

/** Generates a well-formed text, or a copy of it with a piece removed, repeated or replaced. */
function torn(whole: string): fc.Arbitrary<string> {
  const cut = fc.tuple(
    fc.nat(whole.length),
    fc.nat(12),
    fc.constantFrom('', '"', '\n', ',', '{', '\u0000', 'é😀'),
  );
  return fc.oneof(
    fc.constant(whole),
    cut.map(([at, length, put]) => whole.slice(0, at) + put + whole.slice(at + length)),
    cut.map(([at, length]) => whole.slice(0, at + length) + whole.slice(at)),
  );
}

/**
 * Generates bodies of one media type: from the schema, from the examples, and from well-formed texts if given.
 * @throws for an unknown media type
 */
export function bodiesOf(
  media: string,
  values: GeneratedValues,
  schema: Schema,
  examples: Record<string, { value: unknown }>,
  wholes: readonly string[] = [],
): fc.Arbitrary<unknown> {
  const [first, ...others] = Object.values(examples).map(({ value }) => values.mutated(value));
  const wellFormed = first ? fc.oneof(first, ...others, values.of(schema)) : values.of(schema);
  const json = fc.oneof({ weight: 30, arbitrary: wellFormed }, { weight: 1, arbitrary: ANYTHING });
  const lines = fc
    .array(
      json.map((line) => JSON.stringify(line)),
      { maxLength: 5 },
    )
    .map((all) => all.join('\n'));
  const [one, ...more] = wholes.map(torn);
  const text = (generated: fc.Arbitrary<string>) => (one ? fc.oneof(generated, one, ...more) : generated);
  switch (media) {
    case 'application/json':
    case 'application/merge-patch+json':
      return json.map((body) => JSON.stringify(body));
    case 'application/jsonl':
    case 'application/x-ndjson':
      return text(lines);
    case 'text/csv':
      return text(csvText);
    case 'multipart/form-data':
      return fc.tuple(fc.oneof(csvText, lines), optionsOf(fieldsOf(schema), values)).map(([text, fields]) => {
        const form = new FormData();
        for (const [name, value] of fields) form.set(name, value);
        form.set('file', new Blob([text], { type: 'text/csv' }), 'cases.csv');
        return form;
      });
    default:
      throw new Error(`There are no generated bodies of ${media}: add them to this test.`);
  }
}

/** Returns the fields of a form, except its file. */
const fieldsOf = ({ properties = {} }: Schema): Record<string, Schema> =>
  Object.fromEntries(Object.entries(properties).filter(([name]) => name !== 'file'));

/** A CSV cell, well-formed or not. */
const cell = fc.oneof(
  fc.constantFrom('a', 'b', '', '"q,""q"', '"', 'é😀', '=1+1', '\u0000', '1'),
  fc.string({ maxLength: 6 }),
);
const csvText = fc
  .tuple(
    fc.constantFrom('id,input,expected', 'case_id,q', 'a,a', '', '\ufeffid,q'),
    fc.array(fc.array(cell, { minLength: 1, maxLength: 3 }), { maxLength: 6 }),
    fc.constantFrom('\n', '\r\n', '\r'),
  )
  .map(([header, rows, end]) => [header, ...rows.map((row) => row.join(','))].join(end));
