// Objects as they are shown.

/** An object without metadata.managedFields. */
export function withoutManagers(object) {
  if (!object.metadata || !object.metadata.managedFields) return object;
  const {managedFields, ...metadata} = object.metadata;
  return {...object, metadata};
}
