import { stringify } from 'csv-stringify/sync';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { type CsvFault, type CsvRecord, CsvScanner, type KeptBytes } from './csv.scanner';

const ALL: KeptBytes = Array.from({ length: 300 }, () => Infinity);

/** Scans bytes in pieces that end at these offsets, and returns the records. */
function scan(bytes: Buffer, ends: number[] = [], keep = ALL): CsvRecord[] {
  const records: CsvRecord[] = [];
  const scanner = new CsvScanner(keep, (record) => records.push(record));
  const places = [...new Set([0, ...ends.map((end) => end % (bytes.length + 1)), bytes.length])];
  places.sort((a, b) => a - b);
  places.slice(1).forEach((end, index) => scanner.push(bytes.subarray(places[index], end)));
  scanner.end();
  return records;
}

const cellsOf = (text: string): unknown[] => scan(Buffer.from(text)).map(({ cells }) => cells);

/** Cells with many of the characters that are special in CSV. */
const cell = fc.oneof(
  fc.constantFrom('', '"', '""', ',', '\n', '\r\n', '\r', ' ', 'é', '😀', '\ufeff', '=1+1', '[]'),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.array(fc.constantFrom('"', ',', '\n', '\r', 'a', '字'), { maxLength: 8 }).map((parts) => parts.join('')),
);
const table = fc
  .integer({ min: 1, max: 5 })
  .chain((columns) =>
    fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), { minLength: 1, maxLength: 12 }),
  );
const places = fc.array(fc.nat(10_000), { maxLength: 20 });

describe('CsvScanner', () => {
  it('reads back all cells that were written, in pieces of any size', () =>
    fc.assert(
      fc.property(
        table,
        places,
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        fc.boolean(),
        (rows, ends, eol, quoted, endsInBreak) => {
          // csv-stringify quotes only its own line break, and would write others without quotes
          const written = stringify(rows, {
            record_delimiter: eol,
            quoted,
            quoted_empty: rows[0]!.length === 1,
            quoted_match: /[\r\n]/,
            eof: endsInBreak,
          });
          expect(scan(Buffer.from(written), ends).map(({ cells }) => cells)).toEqual(rows);
        },
      ),
      { numRuns: 1_000 },
    ));

  it('agrees with csv-parse on any bytes', () => {
    const text = fc
      .array(fc.constantFrom('"', '"', ',', ',', '\n', '\r\n', 'a', '"a"', '""', ' '), { maxLength: 25 })
      .map((parts) => parts.join(''));
    const attempt = <Value>(read: () => Value): Value | 'refused' => {
      try {
        return read();
      } catch {
        return 'refused';
      }
    };
    fc.assert(
      fc.property(text, places, (csv, ends) => {
        const theirs = attempt(
          () =>
            parse(csv, {
              record_delimiter: ['\r\n', '\n'],
              relax_column_count: true,
            }) as unknown as string[][],
        );
        expect(attempt(() => scan(Buffer.from(csv), ends).map(({ cells }) => cells))).toEqual(theirs);
      }),
      { numRuns: 2_000 },
    );
  });

  it('accepts mixed line breaks, a missing final line break, and empty fields', () => {
    expect(cellsOf('a,b\r\n1,\n,2\r\n"",""')).toEqual([
      ['a', 'b'],
      ['1', ''],
      ['', '2'],
      ['', ''],
    ]);
    expect(cellsOf('')).toEqual([]);
    expect(cellsOf('\n')).toEqual([['']]);
  });

  it('reports the line and the offset at which each record begins', () => {
    const file = 'a,b\n"1\r\n2\n",x\r\né,"""\n"';
    for (let size = 1; size < 12; size++) {
      const ends = Array.from({ length: 30 }, (_, index) => index * size);
      expect(scan(Buffer.from(file), ends).map(({ line, at }) => [line, at])).toEqual([
        [1, 0],
        [2, 4],
        [5, 15],
      ]);
    }
  });

  it('cuts fields to the bytes to keep, and reports it', () => {
    const file = Buffer.from(`a,"${'x'.repeat(50)}",${'é'.repeat(20)}\nb,"12345678",ccc\n`);
    for (const ends of [[], [7, 20, 30, 40, 70], Array.from({ length: 120 }, (_, index) => index)]) {
      const [long, short] = scan(file, ends, [0, 10, 5]);
      expect(long!.isCut).toBe(true);
      expect(long!.cells[0]).toBeUndefined();
      expect(long!.cells[1]!.length).toBeLessThanOrEqual(10);
      expect(long!.fieldCount).toBe(3);
      expect([short!.isCut, short!.cells.slice(1)]).toEqual([false, ['12345678', 'ccc']]);
    }
  });

  const faults: [string, string, number, RegExp][] = [
    ['a quote within a field', 'a\nb"c\n', 2, /quote within a field/],
    ['text after a closing quote', 'a\n\n"b"c\n', 3, /after the quote/],
    ['a blank after a closing quote', 'a,b\n"b" ,c\n', 2, /after the quote/],
    ['a quote left open, at the line that opens it', 'a\n"x\ny\n\n', 2, /never closed/],
    ['a quote left open at the last byte', 'a\n1\n"', 3, /never closed/],
    ['a lone carriage return', 'a\nb\rc\n', 2, /carriage return/],
    ['a carriage return at the end', 'a\nb\r', 2, /carriage return/],
    ['a carriage return after a closing quote', '"a"\rb', 1, /carriage return/],
  ];
  it.each(faults)('rejects %s and names the line', (_, file, line, detail) => {
    for (const ends of [[], Array.from({ length: 20 }, (__, index) => index)]) {
      const refusal = (): CsvFault => {
        try {
          scan(Buffer.from(file), ends);
        } catch (error) {
          return error as CsvFault;
        }
        throw new Error('not refused');
      };
      expect(refusal()).toMatchObject({ name: 'CsvFault', line, detail: expect.stringMatching(detail) });
    }
  });
});
