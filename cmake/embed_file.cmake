file(READ ${IN} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "extern const char kb_embedded_${ID}[];\nextern const unsigned kb_embedded_${ID}_size;\n\
const char kb_embedded_${ID}[] = {${bytes}0};\nconst unsigned kb_embedded_${ID}_size = sizeof kb_embedded_${ID} - 1;\n")
