import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { SpooledFile } from '#platform/http';
import { toJsonText } from '#platform/json';
import { toDatasetCaseDto } from '../dataset-version.dto';
import { CaseMaker } from './csv.case';
import { type CsvMapping, layoutOf } from './csv.columns';
import { readCsv } from './csv.reader';

const COLUMNS = ['id', 'é"\\', 'b', 'm', 't', 'u'];
const ENOUGH = 64 * 1024 * 1024;

/** Characters that become one or five bytes longer in JSON, and others that do not. */
const text = fc
  .array(fc.constantFrom('a', '"', '\\', '\n', '\r\n', '\t', '\x01', '\x1f', '\x7f', 'é', '字', '😀', ','), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''));
/** Some cells are larger than the pieces that are read at once. */
const cell = fc.oneof(
  { weight: 9, arbitrary: text },
  { weight: 1, arbitrary: text.map((part) => part.repeat(4_000)) },
);
const tags = fc.oneof(
  fc
    .array(fc.constantFrom('x', ' y ', '"', '\\', 'é', ''), { maxLength: 20 })
    .map((parts) => parts.join(';')),
  fc.array(fc.constantFrom('a,b', '\n', '"', 'é')).map((parts) => JSON.stringify(parts)),
);

describe('CaseSize', () => {
  async function refusedAt(bytes: Buffer, options: Parameters<typeof readCsv>[1], most: number) {
    const file = await SpooledFile.create();
    try {
      await file.append(bytes);
      file.finish();
      await readCsv(file, options, most);
      return null;
    } catch (error) {
      const { name, line, detail } = error as { name: string; line: number; detail: string };
      if (name !== 'CsvFault') throw error;
      return { line, detail };
    } finally {
      await file.close();
    }
  }

  it('computes the exact JSON size of any case without building it', async () => {
    const tables = fc.array(fc.tuple(cell, cell, cell, tags, tags), { minLength: 1, maxLength: 8 });
    const mappings = fc.constantFrom<Partial<CsvMapping>>(
      {},
      { expected: ['b'], metadata: ['m', 'id'], tags: ['t', 'u'] },
      { tags: ['u'], metadata: ['t'] },
      { tags: ['t', 'id'] },
    );
    const ids = fc.constantFrom(null, 'id');
    await fc.assert(
      fc.asyncProperty(tables, mappings, ids, fc.boolean(), async (rows, mapping, caseIdColumn, crlf) => {
        const columns = caseIdColumn === null ? ['row', ...COLUMNS.slice(1)] : COLUMNS;
        const within = Object.fromEntries(
          Object.entries(mapping).map(([part, names]) => [
            part,
            names.filter((name) => columns.includes(name)),
          ]),
        );
        const cells = rows.map((row, n) => [`c"${n}`, ...row]);
        const record_delimiter = crlf ? '\r\n' : '\n';
        const file = Buffer.from(
          stringify([columns, ...cells], { record_delimiter, quoted_match: /[\r\n]/ }),
        );
        const options = { caseIdColumn, mapping: within };
        const maker = new CaseMaker(layoutOf(columns, options));
        const sizes = cells.map((row, n) =>
          Buffer.byteLength(toJsonText(toDatasetCaseDto(maker.make(n + 1, row)))),
        );
        const largest = Math.max(...sizes);
        expect(await refusedAt(file, options, largest)).toBeNull();
        expect((await refusedAt(file, options, largest - 1))?.detail).toContain(`a case of ${largest} bytes`);
      }),
      { numRuns: 100 },
    );
  });

  it('computes the exact JSON size for columns that are recognized by their names', async () => {
    const json = fc.dictionary(text, fc.oneof(text, fc.constantFrom(1e20, 0.5, null, true)), { maxKeys: 4 });
    const object = fc.oneof(
      fc.constantFrom('', ' ', '{ }'),
      fc.tuple(json, fc.nat(2)).map(([value, spaces]) => JSON.stringify(value, null, spaces)),
    );
    const tables = fc.array(fc.tuple(cell, cell, cell, object, tags), { minLength: 1, maxLength: 8 });
    const headers = fc.constantFrom(
      ['x"', 'expected', 'input', 'Metadata', 'tags'],
      ['id', 'q', 'ground_truth', 'metadata', 'TAGS'],
      ['é', 'b', 'c', 'metadata', 'u'],
    );
    await fc.assert(
      fc.asyncProperty(tables, headers, async (rows, columns) => {
        const cells = rows.map((row, n) => (columns[0] === 'id' ? [`c${n}`, ...row.slice(1)] : row));
        const options = { caseIdColumn: null, mapping: null };
        const maker = new CaseMaker(layoutOf(columns, options));
        const sizes = cells.map((row, n) =>
          Buffer.byteLength(toJsonText(toDatasetCaseDto(maker.make(n + 1, row)))),
        );
        const largest = Math.max(...sizes);
        const file = Buffer.from(stringify([columns, ...cells], { quoted_match: /[\r\n]/ }));
        expect(await refusedAt(file, options, largest)).toBeNull();
        expect((await refusedAt(file, options, largest - 1))?.detail).toContain(`a case of ${largest} bytes`);
      }),
      { numRuns: 100 },
    );
  });

  it('rejects a large case and names the line on which its row begins', async () => {
    const options = { caseIdColumn: null, mapping: {} };
    const small = `"x\n${'y'.repeat(100)}"\n`;
    const file = Buffer.from(`a\n${small.repeat(500)}"${'\x01'.repeat(20_000)}"\n${small}`);
    expect(await refusedAt(file, options, 120_100)).toBeNull();
    expect(await refusedAt(file, options, 120_000)).toEqual({
      line: 1002,
      detail: expect.stringMatching(/120\d\d\d bytes as escaped JSON.*at most 120000/),
    });
    expect(await refusedAt(file, options, ENOUGH)).toBeNull();
  });
});
