import { IsArray, IsOptional } from 'class-validator';
import { Problem } from '#platform/problem';
import { IsOneOf, Nested, NotNull } from './members';
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

const faults = (body: object): [string, string][] => {
  try {
    validateBody(BodyDto, body);
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return (error.errors ?? []).map((fault) => ['pointer' in fault ? fault.pointer : '', fault.detail]);
  }
};

describe('a member that is an object', () => {
  it('is taken as one, or left out; null where it is optional', () => {
    expect(faults({ part: { kind: 'a' }, required: { kind: 'b' }, parts: [{ kind: 'a' }] })).toEqual([]);
    expect(faults({ part: null })).toEqual([]);
    expect(faults({ required: null }).map(([pointer]) => pointer)).toEqual(['/required']);
  });

  it.each<[string, unknown]>([
    ['a text', 'x'],
    ['a number', 1],
    ['a boolean', false],
    ['a list', [{ kind: 'a' }]],
  ])('is nothing else: %s', (_, value) => {
    expect(faults({ part: value })).toEqual([['/part', 'must be an object']]);
  });

  it('is told which of a list is none, and where the list is', () => {
    expect(faults({ parts: [{ kind: 'a' }, null, 'x'] })).toEqual([
      ['/parts/1', 'must be an object'],
      ['/parts/2', 'must be an object'],
    ]);
    expect(faults({ parts: { kind: 'a' } })).toEqual([['/parts', 'must be an array']]);
  });
});
