import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { SpooledFile } from '#platform/http';
import { CaseMaker, type CsvCase } from './csv.case';
import type { CsvOptions } from './csv.columns';
import { CHUNK_BYTES, type CsvContent, readCsv } from './csv.reader';
import { CsvScanner } from './csv.scanner';

const PLAIN: CsvOptions = { caseIdColumn: null, mapping: null };
const MIB = 1024 * 1024;

describe('readCsv', () => {
  const open: SpooledFile[] = [];
  afterEach(() => Promise.all(open.splice(0).map((one) => one.close())));

  async function spooled(content: string | Buffer): Promise<SpooledFile> {
    const file = await SpooledFile.create();
    open.push(file);
    await file.append(Buffer.from(content));
    file.finish();
    return file;
  }
  const read = async (content: string | Buffer, options: CsvOptions = PLAIN): Promise<CsvContent> =>
    readCsv(await spooled(content), options, 64 * MIB);
  const refusal = async (content: string | Buffer, options?: CsvOptions): Promise<[number, string]> => {
    const error = await read(content, options).then(
      () => new Error('not refused'),
      (thrown: unknown) => thrown,
    );
    const { name, line, detail } = error as { name: string; line: number; detail: string };
    if (name !== 'CsvFault') throw error as Error;
    return [line, detail];
  };

  const rows = (count: number, cells = '1'): string => `a\n${`${cells}\n`.repeat(count)}`;

  it('returns columns, row count and case ids, or no ids if row numbers are the ids', async () => {
    const byId = await read('id,case_id,q\n1,x,"a\nb"\n2,y,c');
    expect(byId).toMatchObject({ rowCount: 2, caseIds: ['x', 'y'], layout: { caseIdColumn: 'case_id' } });
    expect((await read('id,q\n7,a\n')).layout.caseIdColumn).toBe('id');
    expect(await read('q\nx\nx\n')).toMatchObject({ rowCount: 2, caseIds: null });
    expect((await read('id,q\n7,a\n', { ...PLAIN, caseIdColumn: 'q' })).caseIds).toEqual(['a']);
  });

  it('skips a byte order mark', async () => {
    const { layout, chunks } = await read('\ufeffa,b\n1,2\n');
    expect(layout.columns).toEqual(['a', 'b']);
    expect(chunks).toEqual([{ rowsBefore: 0, rowOffset: 7 }]);
    expect((await read('\ufeff"a"\n1\n')).layout.columns).toEqual(['a']);
  });

  it('accepts a header without rows', async () => {
    expect(await read('a,b')).toMatchObject({ rowCount: 0, layout: { columns: ['a', 'b'] } });
    expect(await read('id\r\n')).toMatchObject({ rowCount: 0, caseIds: [] });
  });

  const long = 'é'.repeat(255);
  const faults: [string, string | Buffer, number, RegExp][] = [
    ['no bytes', '', 1, /header row/],
    ['only a byte order mark', '\ufeff', 1, /header row/],
    ['an empty line as the header', '\n1\n', 1, /is empty: a header row/],
    ['an empty name, and its replacement name', 'a,,column_2\n', 1, /columns 2 and 3 the same name/],
    [
      'metadata that is not JSON',
      'id,metadata\n1,{}\n2,"{""a"":}"\n',
      3,
      /not JSON: there is "}" at column 6/,
    ],
    ['metadata that is not an object', 'id,Metadata\n1,[]\n', 2, /not a JSON object/],
    ['metadata with a lone surrogate', 'input,metadata\nx,"{""a"":""\\ud800""}"\n', 2, /at \/a: .*surrogate/],
    [
      'a member of metadata with the name of another column',
      'input,metadata,split\nx,"{""a"":1}",test\ny,"{""split"":1}",dev\n',
      3,
      /the member "split", but the file has a column of this name/,
    ],
    ['metadata that is too large', `metadata\n"{}${' '.repeat(MIB)}"\n`, 2, /256 KiB/],
    ['a repeated name', 'a,b,a\n', 1, /columns 1 and 3 the same name, "a"/],
    ['a name that is too long', `a,${long}x\n`, 1, /column 2 .*255 characters/],
    ['semicolons instead of commas', 'id;q;a\n1;x;y\n', 1, /"id;q;a", .* semicolons .* "id".* with commas/],
    ['tabs instead of commas', 'id\tq\n1\tx\n', 1, /"id\\tq", .* tabs .* with commas/],
    ['vertical bars instead of commas', 'q|a\n1|x\n', 1, /"q\|a", .* vertical bars .* with commas/],
    [
      'semicolons instead of commas, and one of them in a text',
      'q;Ground Truth;x\n1;a;\n2;b; c;y\n',
      1,
      /semicolons separate names such as "Ground Truth"/,
    ],
    [
      'semicolons instead of commas, without rows',
      'case_id;q\n',
      1,
      /semicolons separate names such as "case_id"/,
    ],
    ['semicolons instead of commas, and quotes', '"id";"q"\n', 1, /separated by commas, not by semicolons/],
    [
      'semicolons instead of commas, and some quotes',
      'id;"q"\n',
      1,
      /separated by commas, not by semicolons/,
    ],
    [
      'semicolons instead of commas, and an empty line at the end',
      'n;q\r\n1;x\r\n\r\n',
      1,
      /as many semicolons as the header/,
    ],
    [
      'semicolons instead of commas, in more rows than are compared',
      `n;q\n${'1;x\n'.repeat(20)}`,
      1,
      /semicolons/,
    ],
    [
      'semicolons instead of commas, and long texts between them',
      `n;q;a\n1;${'x'.repeat(3 * MIB)};y\n`,
      1,
      /semicolons/,
    ],
    ['tabs instead of commas, and semicolons in texts', 'n\tq; a\n1\tx\n2\ty; z\n', 1, /as many tabs/],
    [
      'semicolons instead of commas, and commas in numbers',
      'n;q\n1;2,5\n',
      2,
      /has 2 fields, .* 1 column\. Fields are separated by commas, not by semicolons/,
    ],
    [
      'semicolons instead of commas, and as many commas in the rows as in the header',
      'id;name, first;q\n1;Doe, Jane;x\n2;Roe, Richard;y\n',
      1,
      /2 columns, .* as many semicolons .* with commas/,
    ],
    ['tabs instead of commas, and commas', 'id\tq, a\n1\tx, y\n', 1, /as many tabs/],
    [
      'semicolons instead of commas, and commas in one row',
      'id;a, b\n1;x\n',
      2,
      /has 1 field, .* 2 columns\. Fields are separated by commas, not by semicolons/,
    ],
    ['a line that names semicolons', 'sep=;\nid;q\n1;x\n', 1, /"sep=;".* with commas, and remove/],
    ['a line that names tabs', 'sep=\t\r\nid\tq\r\n', 1, /"sep=\\t"/],
    ['a line that names commas and no header', 'sep=,\n', 1, /header row/],
    ['a fault after a line that names commas', 'sep=,\nid,q\n1\n', 3, /has 1 field/],
    ['a row with fewer fields', 'a,b\n1,2\n3\n', 3, /has 1 field, but the header names 2 columns/],
    ['a row with more fields that begins on the line before', 'a\n"1\n2",3\n', 2, /has 2 fields/],
    ['an empty line between others', 'a,b\n1,2\n\n3,4\n', 3, /has 1 field/],
    ['an empty case id', 'id,a\n1,x\n"",y\n', 3, /no case id/],
    ['a repeated case id', 'a,id\n"x\ny",1\nz,2\nz,1\n', 5, /the case id "1", which line 2 already has/],
    ['a case id that is too long', `id\n${long}\n${long}x\n`, 3, /255 characters/],
    ['a case id that is far too long', `id\n${'x'.repeat(2 * MIB)}\n`, 2, /255 characters/],
    ['a NUL character', 'a\nb\nc\0\n', 3, /NUL/],
    ['a NUL character in quotes, on a line within the cell', 'a\n"b\nc\0"\n', 3, /NUL/],
    ['bytes that are not UTF-8', Buffer.from('a\nb\n\xffc\n', 'latin1'), 3, /not UTF-8/],
    ['a surrogate encoded in bytes', Buffer.from([0x61, 10, 0xed, 0xa0, 0x80, 10]), 2, /not UTF-8/],
    [
      'a character that the end of the file cuts off',
      Buffer.from([0x61, 10, 0x62, 10, 0xf0, 0x9f, 0x98]),
      3,
      /not UTF-8/,
    ],
    ['a character that a line break cuts off', Buffer.from([0x61, 10, 0xc3, 10, 0x62, 10]), 2, /not UTF-8/],
    ['UTF-16', Buffer.from('\ufeffa,b\n', 'utf16le'), 1, /not UTF-8/],
    [
      'a row with more fields before bytes that are not UTF-8',
      Buffer.from('a\n1,2\n\xff\n', 'latin1'),
      2,
      /2 fields/,
    ],
    [
      'bytes that are not UTF-8 before a row with more fields',
      Buffer.from('a\n\xff\n1,2\n', 'latin1'),
      2,
      /not UTF-8/,
    ],
    ['two case ids that are not UTF-8', Buffer.from('id\n\xff\n\xfe\n', 'latin1'), 2, /not UTF-8/],
  ];
  it.each(faults)('rejects %s and names the line', async (_, content, line, detail) => {
    expect(await refusal(content)).toEqual([line, expect.stringMatching(detail)]);
  });

  const acceptedColumns: [string, string, string][] = [
    ['without rows', 'question; context', ''],
    ['rows without semicolons', 'question; context', 'x\ny\n'],
    ['only one row has as many', 'question; context', 'x; y\nz\n'],
    ['the tenth row has more', 'question; context', `${'x; y\n'.repeat(9)}x; y; z\n`],
    ['quoted rows', 'question; context', '"x; y"\n'],
    ['quoted name', '"question; context"', 'x; y\n'],
    ['empty rows', 'question; context', '\n\n'],
    ['rows with tabs instead of semicolons', 'question; context', 'x\ty\n'],
    ['rows without tabs', 'question\tcontext', 'x\n'],
    ['other columns', 'question; context,c', 'x; y,z\nx,z\n'],
    ['semicolons in the rows but not in the name', 'notes', '1;2\t3\n'],
  ];
  it.each(acceptedColumns)(
    'accepts a column with a semicolon or a tab in its name: %s',
    async (_, name, cells) => {
      const { layout } = await read(`${name}\n${cells}`);
      expect(layout.columns).toEqual(name.replaceAll('"', '').split(','));
    },
  );

  it('accepts a column with as many semicolons or tabs in its cells as in its name if the options name it', async () => {
    for (const name of ['a; b', 'a\tb']) {
      const file = `${name}\n${name}\n`;
      for (const options of [
        { caseIdColumn: name, mapping: {} },
        { caseIdColumn: null, mapping: { input: [name] } },
        { caseIdColumn: null, mapping: { tags: [name] } },
      ]) {
        expect((await read(file, options)).layout.columns).toEqual([name]);
      }
      expect(await refusal(file)).toEqual([1, expect.stringMatching(/commas/)]);
    }
  });

  it.each([['sep=,\n'], ['SEP=,\r\n'], ['"sep=,"\n'], ['\ufeffsep=,\n'], ['sep=,,,\n']])(
    'ignores a first line that names commas as the delimiter: %j',
    async (line) => {
      const { layout, rowCount, caseIds } = await read(`${line}id,q\n1,x\n`);
      expect([layout.columns, rowCount, caseIds]).toEqual([['id', 'q'], 1, ['1']]);
    },
  );

  it('reads a later row or a column that begins with "sep="', async () => {
    expect((await read('id,q\nsep=,\n')).caseIds).toEqual(['sep=']);
    expect((await read('sep=,x\n1,2\n')).layout.columns).toEqual(['sep=', 'x']);
  });

  it('accepts columns with semicolons beside others if the options name them', async () => {
    const file = 'a; b,c\nx; y,z\n';
    const options = { caseIdColumn: null, mapping: { input: ['a; b'] } };
    expect((await read(file, options)).layout.columns).toEqual(['a; b', 'c']);
    expect(await refusal(file)).toEqual([
      1,
      expect.stringMatching(/2 columns.* name the columns with semicolons/),
    ]);
  });

  it('names the correct line deep in a file of many chunks', async () => {
    const file = `a\n${`"x\r\n${'é'.repeat(20_000)}"\n`.repeat(20)}`;
    expect(await refusal(`${file}"b`)).toEqual([42, expect.stringMatching(/never closed/)]);
    expect(await refusal(Buffer.concat([Buffer.from(`${file}b\n`), Buffer.from([0xc3, 0x28])]))).toEqual([
      43,
      expect.stringMatching(/not UTF-8/),
    ]);
  });

  it('accepts 100,000 rows, but no more', async () => {
    expect((await read(rows(100_000))).rowCount).toBe(100_000);
    expect(await refusal(rows(100_001))).toEqual([100_002, expect.stringMatching(/row 100001/)]);
  });

  it('accepts 256 columns, but no more', async () => {
    const columns = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`).join(',');
    expect((await read(columns(256))).layout.columns).toHaveLength(256);
    expect(await refusal(columns(257))).toEqual([1, expect.stringMatching(/more than 256 columns/)]);
    expect(await refusal(`x${','.repeat(5_000_000)}`)).toEqual([1, expect.stringMatching(/more than 256/)]);
  });

  it('accepts names and ids of 255 characters, regardless of their size in bytes', async () => {
    const astral = '😀'.repeat(255);
    const quotes = '"'.repeat(255);
    const { layout, caseIds } = await read(
      stringify([
        [quotes, astral],
        [astral, quotes],
      ]),
      {
        caseIdColumn: quotes,
        mapping: {},
      },
    );
    expect(layout.columns).toEqual([quotes, astral]);
    expect(caseIds).toEqual([astral]);
  });

  it('applies the limits on tags to columns of tags', async () => {
    const tags: CsvOptions = { caseIdColumn: null, mapping: { tags: ['t'] } };
    const many = (count: number) => Array.from({ length: count }, (_, index) => index).join(';');
    await read(`t\n${many(100)}\n"${'x'.repeat(255)},y"\n`, tags);
    expect(await refusal(`t\n\n${many(101)}\n`, tags)).toEqual([
      3,
      expect.stringMatching(/more than 100 tags/),
    ]);
    expect(await refusal(`t\n${'x'.repeat(256)}\n`, tags)).toEqual([
      2,
      expect.stringMatching(/255 characters/),
    ]);
    expect(await refusal(`t\n${';'.repeat(MIB)}\n`, tags)).toEqual([2, expect.stringMatching(/256 KiB/)]);
    await read(`t\n${many(101)}\n${';'.repeat(MIB)}\n`);
  });

  const layoutFault = async (options: CsvOptions): Promise<unknown[]> => {
    const thrown: unknown = await read('id,q,a\n1,2,3\n', options).catch((error: unknown) => error);
    const { name, pointer, detail } = thrown as { name: string; pointer: string; detail: string };
    return [name, pointer, detail];
  };
  it('rejects options with unknown or repeated columns', async () => {
    expect(await layoutFault({ caseIdColumn: 'Q', mapping: {} })).toEqual([
      'LayoutFault',
      '/case_id_column',
      expect.stringMatching(/"Q".*does not have/),
    ]);
    expect(await layoutFault({ caseIdColumn: null, mapping: { tags: ['a', 'b'] } })).toEqual([
      'LayoutFault',
      '/mapping/tags/1',
      expect.stringMatching(/"b"/),
    ]);
    for (const mapping of [{ input: ['q', 'q'] }, { input: ['q'], metadata: ['q'] }]) {
      expect(await layoutFault({ caseIdColumn: null, mapping })).toEqual([
        'LayoutFault',
        expect.stringMatching(/^\/mapping\/(input\/1|metadata\/0)$/),
        expect.stringMatching(/which mapping\/input\/0 already uses/),
      ]);
    }
  });

  const layoutOf = async (
    header: string,
    mapping: CsvOptions['mapping'],
    caseIdColumn: string | null = null,
  ) => (await read(`${header}\n`, { caseIdColumn, mapping })).layout;

  it('keeps unmapped columns out of the input if the mapping names columns for it', async () => {
    const named = { input: ['z'], expected: ['a'], metadata: ['m'], tags: ['t'] };
    const { mapping } = await layoutOf('id,q,z,a,m,t', named);
    expect(mapping).toEqual({ input: ['z'], expected: ['a'], metadata: ['m', 'q'], tags: ['t'] });
    expect((await layoutOf('q,answer', { input: ['q'] })).mapping).toMatchObject({ metadata: ['answer'] });
  });

  it('forms the input from all unmapped columns if the mapping names none for it', async () => {
    for (const input of [undefined, null, []]) {
      const { mapping } = await layoutOf('q,a,ctx', { input, expected: ['a'] });
      expect(mapping).toEqual({ input: ['q', 'ctx'], expected: ['a'], metadata: [], tags: [] });
    }
    const { mapping, valueColumns } = await layoutOf('input,expected', {});
    expect([mapping, valueColumns]).toEqual([
      { input: ['input'], expected: [], metadata: ['expected'], tags: [] },
      [],
    ]);
  });

  it('never puts the case id into the input', async () => {
    const twice = await layoutOf('id,q', { metadata: ['id'] });
    expect(twice).toMatchObject({ caseIdColumn: 'id', mapping: { input: ['q'], metadata: ['id'] } });
    expect((await layoutOf('id,q', null)).mapping.input).toEqual(['q']);
    expect((await layoutOf('input,q', null, 'input')).mapping.input).toEqual(['q']);
    for (const caseIdColumn of [null, 'id']) {
      await expect(layoutOf('id,q', { input: ['q', 'id'] }, caseIdColumn)).rejects.toMatchObject({
        name: 'LayoutFault',
        pointer: '/mapping/input/1',
      });
    }
  });

  it('recognizes well-known headers in any case, and takes the first one for the expected value', async () => {
    expect(await layoutOf('INPUT,Ground_Truth,Tags,split,MetaData,expected_output', null)).toMatchObject({
      mapping: {
        input: ['INPUT'],
        expected: ['expected_output'],
        metadata: ['MetaData', 'Ground_Truth', 'split'],
        tags: ['Tags'],
      },
      valueColumns: ['INPUT', 'expected_output', 'MetaData'],
    });
    const twice = await layoutOf('Input,input,Expected,expected', null);
    expect(twice.valueColumns).toEqual(['input', 'expected']);
    expect(twice.mapping.metadata).toEqual(['Input', 'Expected']);
  });

  it('keeps every answer column out of an input that is formed from other columns', async () => {
    const { mapping } = await layoutOf('question,expected,ground_truth,context', null);
    expect(mapping).toEqual({
      input: ['question', 'context'],
      expected: ['expected'],
      metadata: ['ground_truth'],
      tags: [],
    });
  });

  it('reads the cells of recognized columns as values, and adds other columns to the metadata', async () => {
    const layout = await layoutOf('id,metadata,input,expected,tags,split', null);
    const make = (...cells: string[]) => {
      const { input, expected, metadata, tags } = new CaseMaker(layout).make(1, ['x', ...cells]);
      return [input.text, expected!.text, metadata.text, tags];
    };
    const json = '{ "b": 12345678901234567890123.50, "2": [], "a": {"c": "é\\u00e9"} }';
    expect(make(json, '{"a": 1}', '"42"', 'x, y', 'test')).toEqual([
      '"{\\"a\\": 1}"',
      '"\\"42\\""',
      '{"b":12345678901234567890123.50,"2":[],"a":{"c":"éé"},"split":"test"}',
      ['x', 'y'],
    ]);
    expect(make(' ', '', '', '', '')).toEqual(['""', '""', '{"split":""}', []]);
    expect(make('{}', '', '', '', '')[2]).toBe('{"split":""}');
  });

  it('accepts the file that pandas writes, with an unnamed index column', async () => {
    const { columns, mapping } = (await read(',input,expected\n0,a,b\n1,c,d\n')).layout;
    expect(columns).toEqual(['column_1', 'input', 'expected']);
    expect(mapping).toMatchObject({ input: ['input'], expected: ['expected'], metadata: ['column_1'] });
    expect((await read('a,"",\n1,2,3\n')).layout.columns).toEqual(['a', 'column_2', 'column_3']);
  });

  it('keeps the order of columns in cases, regardless of their names', async () => {
    const { layout } = await read('2,1,__proto__,t\n', { caseIdColumn: null, mapping: { tags: ['t'] } });
    const one = new CaseMaker(layout).make(3, ['b', 'a"\n', 'p', ' x ; y,x,, ']);
    expect(one.input.text).toBe('{"2":"b","1":"a\\"\\n","__proto__":"p"}');
    expect({ ...one, input: null, metadata: one.metadata.text }).toEqual({
      row: 3,
      case_id: '3',
      input: null,
      expected: null,
      metadata: '{}',
      tags: ['x', 'y'],
    });
    const tagged = (cell: string) => new CaseMaker(layout).make(1, ['', '', '', cell]).tags;
    expect(tagged('["a, b", "c;d", ""]')).toEqual(['a, b', 'c;d']);
    expect(tagged('[1, 2]')).toEqual(['[1', '2]']);
    expect(tagged('["\\u0000"]')).toEqual(['["\\u0000"]']);
  });

  it('reports where rows begin in chunks, so that reading can start at any row', async () => {
    const cell = fc.oneof(
      { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
      {
        weight: 1,
        arbitrary: fc.constantFrom('x'.repeat(100_000), '"\r\n'.repeat(90_000), 'é'.repeat(300_000)),
      },
    );
    const tables = fc.tuple(fc.boolean(), fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 30 }));
    await fc.assert(
      fc.asyncProperty(tables, async ([bom, cells]) => {
        const bytes = Buffer.from(stringify([['a', 'b'], ...cells], { bom, quoted_match: /[\r\n]/ }));
        const { layout, chunks, rowCount } = await read(bytes);
        expect(rowCount).toBe(cells.length);
        expect(chunks).toHaveLength(Math.ceil(bytes.length / CHUNK_BYTES));
        const maker = new CaseMaker(layout);
        for (let row = 1; row <= rowCount; row++) {
          const ordinal = chunks.findLastIndex(({ rowsBefore }) => rowsBefore < row);
          const { rowsBefore, rowOffset } = chunks[ordinal]!;
          const cases: CsvCase[] = [];
          const scanner = new CsvScanner([Infinity, Infinity], (record) =>
            cases.push(maker.make(rowsBefore + cases.length + 1, record.cells)),
          );
          scanner.push(bytes.subarray(ordinal * CHUNK_BYTES + rowOffset!));
          scanner.end();
          const at = cases.find((one) => one.row === row)!;
          expect(at.input.parse()).toEqual({ a: cells[row - 1]![0], b: cells[row - 1]![1] });
        }
      }),
      { numRuns: 10 },
    );
  });
});
