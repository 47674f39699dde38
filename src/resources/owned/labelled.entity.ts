import { Column } from 'typeorm';
import type { OrgScope } from '#platform/auth';
import { newOwned, type OwningApp } from './owned.columns';
import { OwnedEntity } from './owned.entity';
import type { Labels } from './version-name';

/** The columns of a resource whose versions can have labels. */
export abstract class LabelledEntity extends OwnedEntity {
  /** Not content, so a change creates no version. */
  @Column('jsonb')
  labels!: Labels;
}

/** Returns the columns of a new resource, except its id and its content. @param owner the app that declares it, if any */
export const newLabelled = (scope: OrgScope, workspaceId: string, owner?: OwningApp) => ({
  ...newOwned(scope, workspaceId, owner),
  labels: {} as Labels,
});
