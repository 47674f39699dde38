import { ArrayMaxSize, IsArray, IsOptional, IsString, ValidateBy } from 'class-validator';
import { Problem } from '#platform/problem';
import { IsOneOf, Nested, NotNull, ReadOnlyMembersOf } from './members';
import { validateBody } from './validation.pipe';

class PartDto {
  @IsOneOf(['a', 'b'])
  kind!: string;
}

class BodyDto {
  @IsOptional()
  @Nested(() => PartDto)
  part?: PartDto | null;

  @NotNull()
  @Nested(() => PartDto)
  required?: PartDto;

  @IsOptional()
  @IsArray()
  @Nested(() => PartDto)
  parts?: PartDto[];
}

/** Elements that the validator received. */
let seen: unknown[] = [];

class ListsDto {
  @IsArray()
  @ArrayMaxSize(3)
  @IsString({ each: true })
  @ValidateBy({ name: 'isSeen', validator: { validate: (value) => seen.push(value) > 0 } }, { each: true })
  ids!: string[];

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(2)
  @Nested(() => PartDto)
  parts?: PartDto[];
}

const faults = (body: object, type: new () => object = BodyDto): [string, string][] => {
  try {
    validateBody(type, body);
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return (error.errors ?? []).map((fault) => ['pointer' in fault ? fault.pointer : '', fault.detail]);
  }
};

describe('a member that is an object', () => {
  it('may be an object or absent, and null if it is optional', () => {
    expect(faults({ part: { kind: 'a' }, required: { kind: 'b' }, parts: [{ kind: 'a' }] })).toEqual([]);
    expect(faults({ part: null })).toEqual([]);
    expect(faults({ required: null }).map(([pointer]) => pointer)).toEqual(['/required']);
  });

  it.each<[string, unknown]>([
    ['a text', 'x'],
    ['a number', 1],
    ['a boolean', false],
    ['a list', [{ kind: 'a' }]],
  ])('must not be %s', (_, value) => {
    expect(faults({ part: value })).toEqual([['/part', 'must be an object']]);
  });

  it('is reported by its place in a list', () => {
    expect(faults({ parts: [{ kind: 'a' }, null, 'x'] })).toEqual([
      ['/parts/1', 'must be an object'],
      ['/parts/2', 'must be an object'],
    ]);
    expect(faults({ parts: { kind: 'a' } })).toEqual([['/parts', 'must be an array']]);
    expect(faults({ parts: {} })).toEqual([['/parts', 'must be an array']]);
    expect(faults({ parts: { kind: 1, other: 1 } })).toEqual([['/parts', 'must be an array']]);
  });
});

describe('a list with a maximum length', () => {
  beforeEach(() => {
    seen = [];
  });

  it('is accepted at its maximum length', () => {
    expect(faults({ ids: ['a', 'b', 'c'], parts: [{ kind: 'a' }, { kind: 'b' }] }, ListsDto)).toEqual([]);
    expect(seen).toEqual(['a', 'b', 'c']);
  });

  it('is rejected without validating the surplus elements', () => {
    expect(faults({ ids: ['a', 'b', 'c', 4, 'e'] }, ListsDto)).toEqual([
      ['/ids', 'must have at most 3 elements'],
    ]);
    expect(seen).toEqual(['a', 'b', 'c']);
  });

  it('is rejected together with all other faults', () => {
    const body = { ids: [1, 'b', 'c', 'd'], parts: [{ kind: 'a' }, 'x', 'y', { kind: 1 }] };
    expect(faults(body, ListsDto)).toEqual([
      ['/ids', 'must have at most 3 elements'],
      ['/parts', 'must have at most 2 elements'],
      ['/parts/1', 'must be an object'],
      ['/ids', 'each element must be a string'],
    ]);
  });
});

class ResourceViewDto {
  resource_id!: string;
  display_name!: string;
}

@ReadOnlyMembersOf(() => ResourceViewDto)
class ResourceDto {
  @IsOptional()
  @IsString()
  display_name?: string;

  @IsOptional()
  @Nested(() => PartDto)
  part?: PartDto;
}

describe('an unknown member', () => {
  it('is rejected by its name, with a suggestion', () => {
    expect(faults({ dispaly_name: 'x' }, ResourceDto)).toEqual([
      ['/dispaly_name', 'is not a known member of this body. Did you mean `display_name`?'],
    ]);
    expect(faults({ 'a/b~': 1 }, ResourceDto)).toEqual([['/a~1b~0', 'is not a known member of this body']]);
  });

  it('is rejected in an object within the body', () => {
    expect(faults({ part: { kind: 'a', other: 1 } }, ResourceDto)).toEqual([
      ['/part/other', 'is not a known member of this body'],
    ]);
    expect(faults({ parts: [{ kind: 'a' }, { kind: 'a', other: 1 }] })).toEqual([
      ['/parts/1/other', 'is not a known member of this body'],
    ]);
  });

  it('is ignored if it is a read-only member of the resource', () => {
    expect(faults({ resource_id: 'r', display_name: 'x' }, ResourceDto)).toEqual([]);
    expect(validateBody(ResourceDto, { resource_id: 'r' })).not.toHaveProperty('resource_id');
  });

  it('is rejected even if every object inherits a member of its name', () => {
    const body = JSON.parse('{"__proto__": 1, "constructor": 1}') as object;
    expect(faults(body, ResourceDto).map(([pointer]) => pointer)).toEqual(['/__proto__', '/constructor']);
  });

  it('is reported at most 100 times', () => {
    const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`m${n}`, n]));
    expect(faults(body, ResourceDto)).toHaveLength(100);
  });
});
