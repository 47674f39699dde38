import { Injectable } from '@nestjs/common';
import { OwnedRepository } from '../../registry';

/** How skills stand to the app that declares them. */
@Injectable()
export class SkillOwnerRepository extends OwnedRepository {
  constructor() {
    super({ table: 'skills', id: 'skill_id', declaredName: 'name' });
  }
}
