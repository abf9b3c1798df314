"""A document against a JSON schema, as far as docs/once.schema.json goes: it needs no package."""

import re

TYPES = {"null": type(None), "boolean": bool, "string": str, "array": list, "object": dict}
KNOWN = {"$schema", "$ref", "title", "description", "definitions", "type", "const", "enum", "pattern", "anyOf", "items", "required",
         "properties", "additionalProperties"}


def has_type(value, name):
    if name in ("number", "integer"):
        return isinstance(value, (int, float)) and not isinstance(value, bool) and (name == "number" or value == int(value))
    return isinstance(value, TYPES[name])


def faults(value, schema, root, path=""):
    """What does not fit, one line each."""
    if "$ref" in schema:
        return faults(value, root["definitions"][schema["$ref"].rsplit("/", 1)[1]], root, path)
    unknown, found, types = set(schema) - KNOWN, [], schema.get("type", [])
    if unknown:
        raise ValueError(f"the schema has {unknown.pop()} at {path}, which is not known here")
    types = [types] if isinstance(types, str) else types
    if types and not any(has_type(value, name) for name in types):
        return [f"{path}: {str(value)[:60]} is no {' or '.join(types)}"]
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: {str(value)[:60]} is not {schema['const']}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {str(value)[:60]} is none of {schema['enum']}")
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        found.append(f"{path}: {value[:60]} does not fit {schema['pattern']}")
    if "anyOf" in schema:
        each = [faults(value, one, root, path) for one in schema["anyOf"]]
        found += min(each, key=len)
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += faults(item, schema.get("items", {}), root, f"{path}/{i}")
    if isinstance(value, dict):
        found += [f"{path}: {name} is missing" for name in schema.get("required", []) if name not in value]
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in properties:
                found += faults(item, properties[name], root, f"{path}/{name}")
            elif more is False:
                found.append(f"{path}: {name} is not expected")
            elif isinstance(more, dict):
                found += faults(item, more, root, f"{path}/{name}")
    return found
