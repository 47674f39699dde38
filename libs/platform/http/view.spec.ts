import { viewOf } from './view';

class BaseDto {
  created_at!: Date;
  archived_at!: Date | null;
}

class ItemDto extends BaseDto {
  id!: string;
  label?: string;
}

describe('viewOf', () => {
  const created_at = new Date();
  const row = { id: 'a', created_at, secret: 'x' };

  it('returns declared and inherited members, and no others', () => {
    expect(viewOf(ItemDto)({ ...row, label: 'b', archived_at: null })).toEqual({
      id: 'a',
      label: 'b',
      created_at,
      archived_at: null,
    });
  });

  it('leaves optional members absent that the row lacks', () => {
    expect(viewOf(ItemDto)({ ...row, label: undefined, archived_at: null })).not.toHaveProperty('label');
  });

  it('computes members from the row and further arguments', () => {
    const toDto = viewOf(ItemDto, (one: { secret: string }, suffix: string) => ({
      label: one.secret + suffix,
      archived_at: null,
    }));
    expect(toDto(row, '!')).toEqual({ id: 'a', label: 'x!', created_at, archived_at: null });
  });

  it('does not compile for a row that lacks a member that is not computed', () => {
    // @ts-expect-error `archived_at` is missing
    expect(viewOf(ItemDto)(row)).not.toHaveProperty('archived_at');
  });
});
