import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { StorageModule } from '#platform/storage';
import { ResourcesModule } from '../resources';
import { FileUploadService } from './files/file-upload.service';
import { FileEntity } from './files/file.entity';
import { FilePackager } from './files/file.packager';
import { FileRepository } from './files/file.repository';
import { FileService } from './files/file.service';
import { FileReconcileStep } from './reconcile/file-reconcile.step';

/** Files, without routes: for the API and the worker. */
@Module({
  imports: [TypeOrmModule.forFeature([FileEntity]), ResourcesModule, StorageModule],
  providers: [FileRepository, FileService, FileUploadService, FileReconcileStep, FilePackager],
  exports: [FileService, FileUploadService],
})
export class FilesModule {}
