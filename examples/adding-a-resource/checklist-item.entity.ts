import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';

/** Something that a team checks before it ships an agent. */
@Entity('checklist_items')
export class ChecklistItemEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  item_id!: string;

  @Column('text')
  workspace_id!: string;

  @Column('text')
  name!: string;

  @Column('boolean')
  is_required!: boolean;

  @JsonColumn()
  metadata!: RawJson;

  @Column('integer')
  generation!: number;
}
